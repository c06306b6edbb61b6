package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// colours returns those of the light and of the dark page by name.
func colours(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	before, after, ok := strings.Cut(styleText, "prefers-color-scheme: dark")
	require.True(t, ok)
	read := func(text string) map[string]string {
		out := make(map[string]string)
		for _, m := range regexp.MustCompile(`--(\w+): (#[0-9a-f]{6});`).FindAllStringSubmatch(text, -1) {
			out[m[1]] = m[2]
		}
		return out
	}
	light, dark = read(before), read(after)
	require.Len(t, dark, len(light))
	return light, dark
}

// luminance is that of WCAG 2: 0 for black to 1 for white.
func luminance(colour string) float64 {
	n, err := strconv.ParseUint(colour[1:], 16, 32)
	if err != nil {
		return math.NaN()
	}
	linear := func(c uint64) float64 {
		v := float64(c&255) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

// contrast is that of WCAG 2: 1 for none to 21.
func contrast(a, b string) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// Text has the contrast of WCAG's level AA, 4.5, and what is drawn 3.
func TestContrast(t *testing.T) {
	light, dark := colours(t)
	for name, c := range map[string]map[string]string{"light": light, "dark": dark} {
		for _, behind := range []string{"page", "panel"} {
			for _, text := range []string{"text", "soft", "link", "good", "info", "warning", "critical"} {
				assert.GreaterOrEqual(t, contrast(c[text], c[behind]), 4.5, "%s: %s on %s", name, text, behind)
			}
		}
		for _, drawn := range []string{"bar", "hot", "median", "limit", "m0", "m4", "h9", "ins", "del"} {
			assert.GreaterOrEqual(t, contrast(c[drawn], c["panel"]), 3.0, "%s: %s", name, drawn)
		}
		assert.GreaterOrEqual(t, contrast(c["dot"], c["m4"]), 3.0, "%s: the dot in what is lost", name)
	}
}

// Whoever sees no hues tells the colours of the heat map apart by how light they
// are, and what is lost from what is not.
func TestColoursByLightness(t *testing.T) {
	light, dark := colours(t)
	for k := 2; k <= heatLevels; k++ {
		a, b := fmt.Sprint("h", k-1), fmt.Sprint("h", k)
		assert.Greater(t, contrast(light[a], light[b]), 1.12, b)
		assert.Greater(t, luminance(light[a]), luminance(light[b]), "light: more is darker, %s", b)
		assert.Greater(t, contrast(dark[a], dark[b]), 1.12, b)
		assert.Less(t, luminance(dark[a]), luminance(dark[b]), "dark: more is brighter, %s", b)
	}
	for _, c := range []map[string]string{light, dark} {
		assert.Greater(t, contrast(c["m0"], c["m4"]), 1.3)
		assert.Greater(t, contrast(c["bar"], c["hot"]), 1.2)
	}
}
