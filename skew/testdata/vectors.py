#!/usr/bin/env python3
"""Writes vectors.json: what pandas, numpy and scipy say about some partitions.

    python3 -m venv venv && venv/bin/pip install pandas scipy
    venv/bin/python vectors.py > vectors.json

The numbers are chosen by a seed, so a run with the same libraries writes the
same file. Where no library has a measure it is computed here from its
definition, by another way than the package goes: the Gini coefficient from all
pairs, expectations under even hashing in whole numbers without any rounding.
"""

import itertools
import json
import math
import statistics
from fractions import Fraction

import numpy
import pandas
import scipy
from scipy import stats

rng = numpy.random.default_rng(20260108)

SUMMARIES = {
    "one": [7],
    "one empty": [0],
    "two": [1, 2],
    "all zero": [0, 0, 0, 0],
    "all equal": [37] * 9,
    "hot of 5": [0, 0, 0, 0, 1000],
    "hot of 6": [0, 0, 0, 0, 0, 1000],
    "hot of 10": [10, 12, 9, 11, 10, 500, 8, 12, 10, 11],
    "mostly empty": [0, 0, 0, 0, 0, 0, 0, 3, 0, 90],
    "two hot": [100, 103, 98, 101, 99, 100, 420, 102, 97, 101, 100, 390, 99, 98, 104, 100, 101, 99, 102, 98],
    "near 1e15": [10**15 + d for d in (0, 1, 2, 3, 4, 5, 40)],
    "even 200": rng.multinomial(49064, [1 / 200] * 200).tolist(),
    "even 4": rng.multinomial(1000, [1 / 4] * 4).tolist(),
    "few keys": rng.multinomial(60, [1 / 200] * 200).tolist(),
    "zipf 64": [int(1e6 / k) for k in range(1, 65)],
    "log-normal": numpy.round(rng.lognormal(8, 2, 101)).astype(int).tolist(),
    "bytes": (rng.integers(1 << 30, 1 << 36, 50)).tolist(),
    "weights": rng.gamma(0.7, 3.0, 33).tolist(),
    "small weights": (rng.gamma(2, 1, 12) * 1e-9).tolist(),
    "a tenth": [0.1, 0.1, 0.1],
    "negative": [-5, 3, 8, -1, 0, 2],
}


def num(x):
    """A number, or None where there is none: JSON has no NaN."""
    x = float(x)
    return x if math.isfinite(x) else None


def deviations(values):
    """Sample and population standard deviation, and whether pandas has its digits.

    pandas rounds the mean before it takes the distances, which shows where all
    values are equal or large and close together. There the module statistics
    answers, which computes with fractions.
    """
    if len(values) < 2:
        return math.nan, numpy.std(values), True
    std, exact = pandas.Series(values).std(), statistics.stdev(values)
    if math.isclose(std, exact, rel_tol=1e-13):
        return std, numpy.std(values), True
    return exact, statistics.pstdev(values), False


def summary(values):
    s = pandas.Series(values)
    n, mean, median = len(s), s.mean(), s.median()
    std, std_pop, has_digits = deviations(values)
    out = {
        "values": values,
        "count": n,
        "total": num(s.sum()),
        "mean": num(mean),
        "std": num(std),
        "stdPop": num(std_pop),
        "min": num(s.min()),
        "median": num(median),
        "p90": num(s.quantile(0.90)),
        "p99": num(s.quantile(0.99)),
        "max": num(s.max()),
        "maxOverMedian": num(s.max() / max(median, 1)),
        "fullest": int(s.idxmax()),
        "quantiles": [[q, num(s.quantile(q))] for q in (0, 0.01, 1 / 3, 0.5, 0.618, 0.95, 1)],
        "sigma": s.index[s > mean + 2 * s.std()].tolist(),
        "sigma1.5": s.index[s > mean + 1.5 * s.std()].tolist(),
        "mad": num(stats.median_abs_deviation(values)),
        "meanAD": num((s - median).abs().mean()),
    }
    if has_digits and std > 0:
        out["z"] = [num(z) for z in stats.zscore(values, ddof=1)]
    if (s >= 0).all() and s.sum() > 0:
        x = numpy.array(values, dtype=float)
        out["idleFraction"] = num(1 - mean / s.max())
        out["hoover"] = num((s - mean).abs().sum() / 2 / s.sum())
        out["toMove"] = num((s - mean).abs().sum() / 2)
        out["gini"] = num(numpy.abs(x[:, None] - x[None, :]).sum() / (2 * n * n * mean))
        out["flinkScore"] = num(min(100, 100 * (s - mean).abs().mean() / mean))
        if n > 1:
            out["cv"] = num(stats.variation(values, ddof=1))
            out["dispersion"] = num(s.var() / mean)
            chi = stats.chisquare(x)
            out["chiSquare"] = num(chi.statistic)
            out["pValue"] = num(chi.pvalue)
    return out


def exact_chance_hoover(keys, partitions):
    """E[sum |x - mean|] / 2K from all outcomes of a binomial, nothing rounded."""
    k, n = keys, partitions
    total = sum(
        abs(n * x - k) * math.comb(k, x) * (n - 1) ** (k - x) for x in range(k + 1)
    )
    return float(Fraction(total, 2 * k * n**k))


def large_chance_hoover(keys, partitions):
    """The same by de Moivre's formula in whole numbers, where there are too many outcomes."""
    k, n = keys, partitions
    v = k // n + 1
    return float(Fraction(v * math.comb(k, v) * (n - 1) ** (k - v + 1), k * n**k))


def exact_sizes(sizes, partitions):
    """The mean Hoover index over all placements of a few keys."""
    total, mean = sum(sizes), Fraction(sum(sizes), partitions)
    moved = Fraction(0)
    for places in itertools.product(range(partitions), repeat=len(sizes)):
        x = [0] * partitions
        for place, size in zip(places, sizes):
            x[place] += size
        moved += sum(abs(v - mean) for v in x) / 2
    return float(moved / total / partitions ** len(sizes))


vectors = {
    "made by": f"numpy {numpy.__version__}, pandas {pandas.__version__}, scipy {scipy.__version__}",
    "summaries": {name: summary(values) for name, values in SUMMARIES.items()},
    "chi-square tail": [
        [x, df, num(stats.chi2.sf(x, df))]
        for x, df in [
            (0, 1), (0.5, 1), (50, 1), (20, 3), (199, 199), (250, 199), (400, 199), (1500, 199),
            (2300, 1999), (2600, 1999), (101000, 99999), (102500, 99999), (90000, 99999), (1e6, 10),
        ]
    ],
    "binomial": [
        [k, n, p, num(stats.binom.pmf(k, n, p))]
        for k, n, p in [
            (0, 10, 0.25), (10, 10, 0.25), (3, 10, 0.25), (1, 2, 0.5), (15, 17, 0.9), (246, 49064, 1 / 200),
            (200, 49064, 1 / 200), (1001, 10**6, 1e-3), (5, 10**6, 1e-6),
        ]
    ],
    "chance hoover": [
        [k, n, exact_chance_hoover(k, n)]
        for k, n in [(1, 2), (1, 200), (2, 2), (3, 2), (7, 4), (50, 200), (60, 20), (200, 200), (199, 200), (1000, 4), (1000, 50)]
    ]
    + [[k, n, large_chance_hoover(k, n)] for k, n in [(49064, 200), (100000, 7), (20000, 2000), (250000, 16)]],
    "sizes": [
        [sizes, n, exact_sizes(sizes, n)]
        for sizes, n in [
            ([1, 1, 1, 1], 2), ([5, 1], 2), ([5, 3, 1, 1], 3), ([100, 1, 1, 1, 1, 1], 4), ([8, 7, 6, 5, 4, 3, 2, 1], 3),
            ([2, 2, 2, 1, 1, 1, 1], 4), ([1, 2, 4, 8, 16, 32, 64, 128, 256, 512], 2), ([3], 6),
        ]
    ],
}


def dump(value, depth=0):
    """JSON with one line for each list, so that a change shows where it is."""
    if not isinstance(value, dict):
        return json.dumps(value)
    pad = "\t" * (depth + 1)
    lines = [f"{pad}{json.dumps(k)}: {dump(v, depth + 1)}" for k, v in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + "\t" * depth + "}"


print(dump(vectors))
