// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tooWide are the texts of a diagram that their boxes do not hold.
const tooWide = `[...document.querySelectorAll(".node")].flatMap(node => {
	const box = node.querySelector("path").getBBox();
	return [...node.querySelectorAll("text")].filter(text => {
		const {x, width} = text.getBBox();
		return x < box.x || x + width > box.x + box.width;
	}).map(text => text.textContent);
})`

// tooFaint are the texts of a diagram with less contrast to their box than WCAG asks for.
const tooFaint = `(() => {
	const luminance = color => {
		const [r, g, b] = color.match(/\d+/g).map(c => (c / 255) ** 2.2);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	return [...document.querySelectorAll(".node text")].filter(text => {
		const fills = [text, text.parentElement.querySelector("path")].map(e => luminance(getComputedStyle(e).fill));
		return (Math.max(...fills) + 0.05) / (Math.min(...fills) + 0.05) < 4.5;
	}).map(text => text.textContent);
})()`

// The text of each diagram stays in its box and can be read, in light and in dark.
func TestDiagrams(t *testing.T) {
	directory := filepath.Join("..", "..", "docs", "images")
	sources, err := filepath.Glob(filepath.Join(directory, "*.dot"))
	require.NoError(t, err)
	require.NotEmpty(t, sources)
	p := openHandler(t, nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if picture, err := os.ReadFile(filepath.Join(directory, filepath.Base(r.URL.Path))); err == nil {
			fmt.Fprintf(w, "<!DOCTYPE html><title>diagram</title><main>%s</main>", picture)
		}
	}), "/"+svgOf(sources[0]))
	for _, source := range sources {
		p.visit("/" + svgOf(source))
		require.Greater(t, eval[int](p, `document.querySelectorAll(".node text").length`), 5, source)
		fills := map[string]string{}
		for _, scheme := range []string{"light", "dark"} {
			p.scheme(scheme)
			assert.Empty(t, eval[[]string](p, tooWide), source)
			assert.Empty(t, eval[[]string](p, tooFaint), "%s, %s", source, scheme)
			fills[scheme] = eval[string](p, `getComputedStyle(document.querySelector(".graph > polygon")).fill`)
		}
		assert.NotEqual(t, fills["light"], fills["dark"], "the background of %s", source)
	}
}

// svgOf returns the name of the picture of a source.
func svgOf(source string) string { return strings.TrimSuffix(filepath.Base(source), ".dot") + ".svg" }
