// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package top

import (
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// blocks are a cell that is filled from below by eighths.
var blocks = []rune(" ▁▂▃▄▅▆▇█")

const eighths = 8

// above marks cells between the mean and the maximum.
const above = '░'

// chart draws a history from 0 to a value: filled up to the mean of each column's time, and shaded from there to the maximum. A time without
// readings is empty. The first line is the top.
func chart(points []view.HistoryPoint, end float64, width, rows int) []string {
	lines := make([][]rune, rows)
	for _, c := range buckets(points, width) {
		mean, highest := level(c.mean, end, rows), level(c.max, end, rows)
		for i := range lines {
			bottom := (rows - 1 - i) * eighths
			cell := blocks[min(eighths, max(0, mean-bottom))]
			if cell == ' ' && highest > bottom {
				cell = above
			}
			if !c.known {
				cell = ' '
			}
			lines[i] = append(lines[i], cell)
		}
	}
	texts := make([]string, rows)
	for i := range lines {
		texts[i] = string(lines[i])
	}
	return texts
}

// level is the height of a value in eighths of a line. A value above 0 has one at least.
func level(v, end float64, rows int) int {
	if v <= 0 || end <= 0 {
		return 0
	}
	return max(1, int(min(1, v/end)*float64(rows*eighths)+0.5))
}

// bucket is one column of a chart.
type bucket struct {
	mean, max float64
	known     bool
}

// buckets gives each column the points of its time. A point holds until the next.
func buckets(points []view.HistoryPoint, width int) []bucket {
	columns := make([]bucket, max(0, width))
	if len(points) == 0 || width <= 0 {
		return columns
	}
	first := points[0].Time
	step := max(time.Nanosecond, points[len(points)-1].Time.Sub(first)/time.Duration(width))
	index := 0 // the point that holds at the start of the column
	for i := range columns {
		start := first.Add(time.Duration(i) * step)
		for index+1 < len(points) && !points[index+1].Time.After(start) {
			index++
		}
		n := 0
		for j := index; j < len(points) && (j == index || points[j].Time.Before(start.Add(step))); j++ {
			p := &points[j]
			if p.Value == nil {
				continue
			}
			columns[i].mean += *p.Value
			columns[i].max = max(columns[i].max, *p.Value, orElse(p.Max, *p.Value))
			columns[i].known = true
			n++
		}
		if n > 0 {
			columns[i].mean /= float64(n)
		}
	}
	return columns
}

func orElse(v *float64, otherwise float64) float64 {
	if v == nil {
		return otherwise
	}
	return *v
}
