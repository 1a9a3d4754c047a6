// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3/color"
	"github.com/gdamore/tcell/v3/vt"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

// The picture of the terminal in README.md is what otelgpu top shows of the sample fleet. With -update it is written there.
func TestTerminalPicture(t *testing.T) {
	server := sampleServer(t)
	term := startTerminal(t, 132, 18, []string{"COLORTERM=truecolor"}, "top", "--server", server)
	term.shows("live", "9 GPUs: 8 ok, 1 failed, 1 stale", "quit")
	path := filepath.Join("..", "..", "docs", "images", "terminal.svg")
	picture := func() string {
		return clock.ReplaceAllString(strings.ReplaceAll(term.svg(), server, client.DefaultServer), "12:00:00")
	}
	if *update {
		term.settles()
		require.NoError(t, os.WriteFile(path, []byte(picture()), 0o644))
	}
	committed, err := os.ReadFile(path)
	require.NoError(t, err)
	drawn := picture()
	for end := time.Now().Add(patience); drawn != string(committed) && time.Now().Before(end); drawn = picture() { // a screen is drawn in parts
		time.Sleep(20 * time.Millisecond)
	}
	assert.Equal(t, string(committed), drawn, "the screen has changed: go test ./cmd/otelgpu -run TestTerminalPicture -update")
}

const (
	cellWidth, cellHeight = 8.4, 18 // pixels, of a monospaced font of 14 pixels
	foreground            = "#d4d4d4"
	background            = "#000000"
)

// svg draws the screen, with a text element for each run of cells of the same style.
func (term *terminal) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\">\n",
		float64(term.width)*cellWidth+20, term.height*cellHeight+20)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=%q/>\n", background)
	for y := range term.height {
		for x := 0; x < term.width; {
			begin, style := x, term.emulator.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)}).S
			var text strings.Builder
			for x < term.width {
				cell := term.emulator.GetCell(vt.Coord{X: vt.Col(x), Y: vt.Row(y)})
				if cell.S != style {
					break
				}
				text.WriteString(max(cell.C, " "))
				x += max(1, cell.W)
			}
			drawRun(&b, style, begin, x-begin, y, text.String())
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func drawRun(b *strings.Builder, style vt.Style, x, cells, y int, text string) {
	if style == nil {
		return
	}
	ink, paper := css(style.Fg(), foreground), css(style.Bg(), background)
	if style.Attr()&vt.Reverse != 0 {
		ink, paper = paper, ink
	}
	left, top, width := 10+float64(x)*cellWidth, 10+y*cellHeight, float64(cells)*cellWidth
	if paper != background {
		fmt.Fprintf(b, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=%q/>\n", left, top, width, cellHeight, paper)
	}
	if strings.TrimSpace(text) == "" {
		return
	}
	weight := ""
	if style.Attr()&vt.Bold != 0 {
		weight = ` font-weight="bold"`
	}
	fmt.Fprintf(b, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" fill=%q%s xml:space=\"preserve\">%s</text>\n",
		left, top+14, width, ink, weight, html.EscapeString(text))
}

func css(c color.Color, otherwise string) string {
	if !c.Valid() || c == color.Default {
		return otherwise
	}
	return fmt.Sprintf("#%06x", c.TrueColor().Hex())
}
