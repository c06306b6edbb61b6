"""The rows that the fixture queries read: random, but the same for the same seed.

Every function here returns batches, a list of lists of tuples: one inner list
is one input file, which the queries read as one micro-batch.
"""
import datetime as dt
import decimal
import random
from dataclasses import dataclass

from pyspark.sql import types as T

START = dt.datetime(2026, 1, 5, 9, 0, 0)


def at(seconds):
    """The event time so many seconds after the first."""
    return START + dt.timedelta(seconds=seconds)


def fields(**types):
    return T.StructType([T.StructField(name, t) for name, t in types.items()])


# --- clicks on advisers -----------------------------------------------------

CLICK = fields(profile_id=T.StringType(), adviser_id=T.StringType(), timestamp=T.TimestampType())


def clicks(r: random.Random, batches, per_batch, advisers=40, hot=0.0, seconds=90):
    """Clicks of 5,000 profiles; `hot` is the share that goes to adviser_hot.

    Each batch covers `seconds` of event time and follows the one before.
    """
    def click(batch):
        adviser = "adviser_hot" if r.random() < hot else f"adviser_{r.randrange(advisers):05d}"
        return f"profile_{r.randrange(5000):06d}", adviser, at((batch + r.random()) * seconds)

    return [[click(b) for _ in range(per_batch)] for b in range(batches)]


# --- words ------------------------------------------------------------------

WORD = fields(w=T.StringType(), n=T.LongType())


def words(r: random.Random, batches, per_batch, vocabulary):
    return [[(f"w{r.randrange(vocabulary)}", r.randrange(1000)) for _ in range(per_batch)]
            for _ in range(batches)]


# --- long texts -------------------------------------------------------------

TEXT = fields(k=T.IntegerType(), s=T.StringType())


def text(r: random.Random, length):
    """A text of runs of one letter each, so that it is long and yet packs well."""
    out = []
    while length > 0:
        run = min(length, r.randrange(50, 500))
        out.append(r.choice("abcdefghijklmnopqrstuvwxyz") * run)
        length -= run
    return "".join(out)


def texts(r: random.Random, batches, keys, lengths):
    return [[(k, text(r, r.choice(lengths))) for k in range(keys)] for _ in range(batches)]


# --- impressions and their clicks, for joins ----------------------------------

IMPRESSION = fields(ad=T.StringType(), shown=T.TimestampType(), cost=T.DecimalType(20, 4))
AD_CLICK = fields(clicked_ad=T.StringType(), clicked=T.TimestampType(), who=T.StringType())


def impressions_and_clicks(r: random.Random, batches, per_batch, hot=0.0, nulls=0.0):
    """Two streams to join by ad; `hot` of the rows are of ad_hot, `nulls` of none."""
    def ad():
        if r.random() < nulls:
            return None
        return "ad_hot" if r.random() < hot else f"ad_{r.randrange(30)}"

    def cost():
        return decimal.Decimal(r.randrange(10**7)).scaleb(-4)

    shown = [[(ad(), at(b * 90 + r.randrange(90)), cost()) for _ in range(per_batch)]
             for b in range(batches)]
    clicked = [[(ad(), at(b * 90 + r.randrange(120)), f"p{r.randrange(100)}") for _ in range(per_batch // 2)]
               for b in range(batches)]
    return shown, clicked


# --- a column of every type ---------------------------------------------------

DETAIL = fields(d=T.DoubleType(), e=T.ArrayType(T.ShortType()))
NESTED = fields(a=T.IntegerType(), b=T.StringType(), c=DETAIL)

FLAT = dict(
    bool=T.BooleanType(), byte=T.ByteType(), short=T.ShortType(), int=T.IntegerType(), long=T.LongType(),
    float=T.FloatType(), double=T.DoubleType(), str=T.StringType(), bin=T.BinaryType(),
    date=T.DateType(), tstamp=T.TimestampType(), ntz=T.TimestampNTZType(), dtint=T.DayTimeIntervalType(),
    dec9=T.DecimalType(9, 2), dec18=T.DecimalType(18, 6), dec38=T.DecimalType(38, 10))
NESTS = dict(
    nested=NESTED, arr_int=T.ArrayType(T.IntegerType()), arr_str=T.ArrayType(T.StringType()),
    arr_struct=T.ArrayType(NESTED), arr_bool=T.ArrayType(T.BooleanType()), arr_dec=T.ArrayType(T.DecimalType(9, 2)),
    arr_dec38=T.ArrayType(T.DecimalType(38, 10)), arr_ts=T.ArrayType(T.TimestampType()), arr_bin=T.ArrayType(T.BinaryType()))
MAPS = dict(
    map_si=T.MapType(T.StringType(), T.IntegerType()),
    map_nested=T.MapType(T.IntegerType(), T.ArrayType(T.DecimalType(38, 10))),
    map_struct=T.MapType(T.DateType(), NESTED))


def value(r: random.Random, t):
    """A value of type t: often one at the edge of its range, one in seven null."""
    if r.random() < .15:
        return None
    return present(r, t)


def present(r: random.Random, t):
    """As value, but never null (as the keys of a map must not be)."""
    match t:
        case T.BooleanType():
            return r.random() < .5
        case T.ByteType():
            return r.choice([-128, 127, 0, r.randrange(-128, 128)])
        case T.ShortType():
            return r.choice([-32768, 32767, r.randrange(-9999, 9999)])
        case T.IntegerType():
            return r.choice([-2**31, 2**31 - 1, r.randrange(-10**6, 10**6)])
        case T.LongType():
            return r.choice([-2**63, 2**63 - 1, r.randrange(-10**15, 10**15)])
        case T.FloatType() | T.DoubleType():
            return r.choice([float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1.5, r.uniform(-1e6, 1e6)])
        case T.StringType():
            return r.choice(["", "a", "日本語テキスト", "emoji 😀 zero\x00byte", "x" * r.randrange(70), f"s{r.randrange(1000)}"])
        case T.BinaryType():
            return bytearray(r.randrange(256) for _ in range(r.randrange(20)))
        case T.DateType():
            return r.choice([dt.date(1969, 12, 31), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2026, 2, 28)])
        case T.TimestampType():
            return r.choice([dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1900, 1, 1, 12, 30), at(r.randrange(10**6))])
        case T.TimestampNTZType():
            return r.choice([dt.datetime(1960, 1, 1, 1, 1, 1, 999999), at(r.randrange(10**6))])
        case T.DayTimeIntervalType():
            return dt.timedelta(seconds=r.randrange(-10**6, 10**6), microseconds=r.randrange(10**6))
        case T.DecimalType():
            return number(r, t)
        case T.ArrayType():
            return [value(r, t.elementType) for _ in range(r.randrange(5))]
        case T.MapType():
            return {present(r, t.keyType): value(r, t.valueType) for _ in range(r.randrange(4))}
        case T.StructType():
            return tuple(value(r, f.dataType) for f in t.fields)
    raise TypeError(f"no values of type {t}")


def number(r: random.Random, t: T.DecimalType):
    unit = decimal.Decimal(1).scaleb(-t.scale)
    with decimal.localcontext(decimal.Context(prec=60)):
        most = decimal.Decimal(10) ** (t.precision - t.scale) - unit
        some = decimal.Decimal(r.randrange(-10**6, 10**6)).scaleb(-2).quantize(unit)
        return r.choice([most, -most, decimal.Decimal(0).quantize(unit), some])


def every_type(r: random.Random, batches, per_batch, schema: T.StructType):
    return [[tuple(value(r, f.dataType) for f in schema.fields) for _ in range(per_batch)]
            for _ in range(batches)]


# --- a user-defined type ---------------------------------------------------------


@dataclass
class Point:
    x: float
    y: float


class PointType(T.UserDefinedType):
    """A user-defined type of Python, which SQL sees as an array of doubles."""

    @classmethod
    def sqlType(cls):
        return T.ArrayType(T.DoubleType(), False)

    @classmethod
    def module(cls):
        return __name__

    def serialize(self, point):
        return [float(point.x), float(point.y)]

    def deserialize(self, numbers):
        return Point(*numbers)


Point.__UDT__ = PointType()
