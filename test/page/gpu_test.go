// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

// The page of a GPU has the API's values. The GPUs: a healthy one, a lost one, a hot one, a divided one, its partition, AMD's, and one of a silent node.
func TestGPU(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/")
	for _, id := range []string{"GPU-n1-0", "GPU-n2-1", "GPU-n1-3", "GPU-n2-0", "MIG-n2-0", "000000000000abc0", "GPU-workstation-0"} {
		p.visit("/#/gpu?id=" + url.QueryEscape(id))
		p.until(`document.querySelector(".reading-value")`)
		g := ask[view.GPUMetrics](p, "metrics/"+url.PathEscape(id))
		assert.Equal(t, readings(g), shownReadings(p), id)
		assert.Contains(t, p.text(".title"), stateWord(g.GPU), id)
		assert.Contains(t, p.text(".title"), *g.Model, id)
		assert.Equal(t, len(g.Partitions), eval[int](p, `document.querySelectorAll('[aria-label="Partitions"] tbody tr').length`), id)
		assert.Equal(t, len(g.Processes), eval[int](p, `document.querySelectorAll('[aria-label="Processes"] tbody tr').length`), id)
	}
}

func TestLostGPU(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/gpu?id=GPU-n2-1")
	p.until(`document.querySelector('[aria-label="Events"] tbody tr')`)
	for _, said := range []string{"Faults: lost.", "The driver asks for: reboot.", "XID 79", "GPU failed: lost"} {
		assert.Contains(t, p.text("main"), said)
	}
	for _, reading := range []string{"memory", "temperature", "power"} {
		assert.Equal(t, dash, p.text(`[data-reading="`+reading+`"] .reading-value`), "nothing was read: %s", reading)
	}
	assert.Equal(t, 2, eval[int](p, `document.querySelectorAll('[aria-label="Events"] tbody tr').length`))
	p.visit("/#/problems")
	p.until(`document.querySelectorAll("tbody tr").length > 0`)
	sameProblems(p)
}

// Sparklines are of the API's history; a gap in it is a gap in the line.
func TestSparkline(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/gpu?id=GPU-n1-0")
	p.until(`document.querySelector('[data-reading="power"] .spark-line')`)
	history := ask[view.History](p, "devices/GPU-n1-0/history?metric=hw.power")
	drawn := eval[string](p, `document.querySelector('[data-reading="power"] .spark-line').getAttribute("d")`)
	pieces, points, gap := 0, 0, true
	for _, point := range history.Points {
		if point.Value != nil {
			points++
			if gap {
				pieces++
			}
		}
		gap = point.Value == nil
	}
	assert.Equal(t, 2, pieces, "the history has a gap")
	assert.Equal(t, pieces, count(drawn, 'M'))
	assert.Equal(t, points, count(drawn, 'M')+count(drawn, 'L'))
	assert.True(t, eval[bool](p, `!!document.querySelector('[data-reading="power"] .spark-limit')`), "the power limit is a line")
}

// The scale of a sparkline is from zero to the limit of the GPU: a clock of 810 of 1,980 MHz fills 41 % of it. Its band is from the minimum to the
// maximum.
func TestSparklineScale(t *testing.T) {
	s := fleets.Copy(viewtest.Snapshot())
	node(s, "prod", "n1").GPUs[0].Clocks["graphics"] = 810e6
	p := open(t, s, "/#/gpu?id=GPU-n1-0")
	p.until(`document.querySelector('[data-reading="clock"] .spark-line')`)
	last := func(class string) float64 {
		d := eval[string](p, `document.querySelector('[data-reading="clock"] .`+class+`').getAttribute("d")`)
		y, err := strconv.ParseFloat(d[strings.LastIndex(strings.TrimSuffix(d, "Z"), " ")+1:], 64)
		require.NoError(t, err)
		return (47 - y) / 46
	}
	assert.InDelta(t, 810.0/1980, last("spark-line"), 0.01)
	assert.Contains(t, p.text(`[data-reading="clock"]`), "of 1,980 MHz")
	band := eval[[]float64](p, `(document.querySelector('[data-reading="power"] .spark-band').getAttribute("d").match(/ [0-9.]+/g) ?? []).map(Number)`)
	line := eval[[]float64](p, `(document.querySelector('[data-reading="power"] .spark-line').getAttribute("d").match(/ [0-9.]+/g) ?? []).map(Number)`)
	assert.Len(t, band, 2*len(line))
	assert.Less(t, band[0], line[0], "the maximum is above the mean")
}

func count(s string, c rune) (n int) {
	for _, r := range s {
		if r == c {
			n++
		}
	}
	return n
}

func TestUnknownGPU(t *testing.T) {
	p := open(t, viewtest.Snapshot(), "/#/gpu?id=none")
	p.until(`document.querySelector("main .notice-error")`)
	assert.Contains(t, p.text("main .notice-error"), "none")
}
