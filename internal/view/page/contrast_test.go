// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sources calls a function for each of our TypeScript and CSS files.
func sources(t *testing.T, do func(path, text string)) {
	t.Helper()
	count := 0
	for _, directory := range []string{"core", "fleet", "parts", "style", "views", "."} {
		for _, kind := range []string{"*.ts", "*.tsx", "*.css"} {
			paths, err := filepath.Glob(filepath.Join("src", directory, kind))
			require.NoError(t, err)
			for _, path := range paths {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				do(path, string(text))
				count++
			}
		}
	}
	require.Greater(t, count, 30)
}

// colours returns the custom properties of each theme in theme.css.
func colours(t *testing.T) (light, dark, auto map[string]string) {
	t.Helper()
	text, err := os.ReadFile("src/style/theme.css")
	require.NoError(t, err)
	blocks := regexp.MustCompile(`(?s)data-theme="(\w+)"\]\s*\{(.*?)\}`).FindAllStringSubmatch(string(text), -1)
	themes := map[string]map[string]string{}
	for _, block := range blocks {
		themes[block[1]] = map[string]string{}
		for _, line := range regexp.MustCompile(`--([\w-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(block[2], -1) {
			themes[block[1]][line[1]] = line[2]
		}
	}
	require.Len(t, themes, 3)
	return themes["light"], themes["dark"], themes["auto"]
}

func TestThemesHaveTheSameColours(t *testing.T) {
	light, dark, auto := colours(t)
	assert.Equal(t, dark, auto, "the system's dark theme is the one of the switch")
	for name := range light {
		assert.Contains(t, dark, name)
	}
	assert.Len(t, dark, len(light))
	sources(t, func(path, text string) {
		for _, use := range regexp.MustCompile(`var\(--([\w-]+)\)`).FindAllStringSubmatch(text, -1) {
			if use[1] != "on" { // of a tile: --text, --on-use, --on-failed or --quiet
				assert.Contains(t, light, use[1], path)
			}
		}
		if !strings.HasSuffix(path, "theme.css") {
			assert.NotRegexp(t, `#[0-9a-fA-F]{3,8}\b[;,) ]|rgba?\(|hsla?\(`, text, "%s: colours stand in theme.css", path)
		}
	})
}

// WCAG 2.2 AA: 4.5 for text (1.4.3), 3 for signs, borders of controls, and lines that mean something (1.4.11).
func TestContrast(t *testing.T) {
	text := []string{
		"text page", "text surface", "quiet page", "quiet surface", "link page", "link surface",
		"text use-0", "text use-1", "text use-2", "on-use use-3", "on-use use-4", "on-failed failed",
		"failed-text page", "failed-text surface", "failed-text failed-soft", "warning-text page", "warning-text surface", "warning-text warning-soft",
		"ok-text page", "ok-text surface",
	}
	parts := []string{
		"control surface", "control page", "line-strong surface", "line-strong page", "focus page", "focus surface", "use-3 use-0", "use-4 use-0", "use-3 surface",
		"warning surface", "warning use-0", "warning warning-soft", "failed surface", "failed page", "link surface",
	}
	light, dark, _ := colours(t)
	for theme, c := range map[string]map[string]string{"light": light, "dark": dark} {
		for least, pairs := range map[float64][]string{4.5: text, 3: parts} {
			for _, pair := range pairs {
				front, back, _ := strings.Cut(pair, " ")
				require.Contains(t, c, front)
				require.Contains(t, c, back)
				ratio := contrast(t, c[front], c[back])
				assert.GreaterOrEqual(t, ratio, least, "%s: %s on %s is %.2f", theme, front, back, ratio)
			}
		}
	}
}

// contrast is the ratio that WCAG defines. Black on white is 21.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	la, lb := luminance(t, a), luminance(t, b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(colour[1:], 16, 32)
	require.NoError(t, err)
	linear := func(v uint64) float64 {
		s := float64(v&0xff) / 255
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(rgb>>16) + 0.7152*linear(rgb>>8) + 0.0722*linear(rgb)
}

// The formula against the values that WCAG's own examples have.
func TestContrastFormula(t *testing.T) {
	assert.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 0.001)
	assert.InDelta(t, 1, contrast(t, "#777777", "#777777"), 0.001)
	assert.InDelta(t, 4.48, contrast(t, "#777777", "#ffffff"), 0.01)
}
