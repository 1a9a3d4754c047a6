// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/view"
)

const (
	// At most this many points stay for the last eighth of the history's time, and at most this many for all of it.
	recentShare = 8
	maxPoints   = 64

	// trustedClocks is how far the clock of a node may be from this one's, or how late a message may be, before the times of the history
	// are moved to this clock.
	trustedClocks = time.Minute
)

// pasts has the recent past of each device. It outlives the device, so that one that comes back, or moves to another node, keeps it.
type pasts struct {
	keep time.Duration
	max  int
	byID map[string]*history
}

// history is the recent past of one device.
type history struct {
	rows       []row
	before     [numColumns]total // of the row before the last one
	last       [numColumns]total
	lastUpdate time.Duration
	offset     time.Duration // of this clock from the node's
	silence    time.Duration // longer is a gap
}

// row contains the values of one time. NaN means that a value was not read.
type row struct {
	timestamp pcommon.Timestamp
	values    [numColumns]float32
}

// total is the value of a counter.
type total struct {
	value     float64
	timestamp pcommon.Timestamp // 0: not read
}

// add adds what was read of a device. A second message of the same time replaces the first.
func (p *pasts) add(g *view.GPU, timestamp pcommon.Timestamp, now time.Duration, clock time.Time, silence time.Duration) {
	past := p.byID[g.ID]
	if past == nil {
		if len(p.byID) >= p.max {
			return
		}
		past = &history{}
		p.byID[g.ID] = past
	}
	past.lastUpdate, past.silence, past.offset = now, silence, clock.Sub(timestamp.AsTime())
	if past.offset.Abs() <= trustedClocks {
		past.offset = 0
	}
	// Rows that are newer are there after the node's clock was set back.
	past.rows = slices.DeleteFunc(past.rows, func(r row) bool { return r.timestamp > timestamp })
	if len(past.rows) == 0 || past.rows[len(past.rows)-1].timestamp < timestamp {
		past.append(timestamp)
	}
	past.fill(g)
	past.thin(p.keep)
}

func (h *history) append(timestamp pcommon.Timestamp) {
	if len(h.rows) == cap(h.rows) {
		h.rows = append(make([]row, 0, len(h.rows)+8), h.rows...)
	}
	h.rows = append(h.rows, row{timestamp: timestamp})
	h.before, h.last = h.last, [numColumns]total{}
}

// fill sets the values of the last row.
func (h *history) fill(g *view.GPU) {
	r := &h.rows[len(h.rows)-1]
	for i := range columns {
		v := columns[i].value(g)
		r.values[i] = float32(math.NaN())
		switch {
		case v == nil:
		case !columns[i].rate:
			r.values[i] = float32(*v)
		default:
			h.last[i] = total{*v, r.timestamp}
			if old := h.before[i]; old.timestamp > 0 && old.timestamp < r.timestamp && old.value <= *v {
				r.values[i] = float32((*v - old.value) / time.Duration(r.timestamp-old.timestamp).Seconds())
			}
		}
	}
}

// thin removes rows that are too old, and rows that are closer together than the time allows.
func (h *history) thin(keep time.Duration) {
	newest := h.rows[len(h.rows)-1].timestamp
	rows := h.rows[:0]
	for _, r := range h.rows {
		age, space := time.Duration(newest-r.timestamp), keep/maxPoints
		if age < keep/recentShare {
			space /= recentShare
		}
		if age > keep || age > 0 && len(rows) > 0 && time.Duration(r.timestamp-rows[len(rows)-1].timestamp) < space {
			continue
		}
		rows = append(rows, r)
	}
	h.rows = rows
}

// points returns the values of one column after a time, with a null if nothing was read for long.
func (h *history) points(column int, since time.Time, keep time.Duration) []view.HistoryPoint {
	points, any := []view.HistoryPoint{}, false
	gap := max(h.silence, silentIntervals*keep/maxPoints)
	for i, r := range h.rows {
		rowTime := r.timestamp.AsTime().Add(h.offset)
		if !rowTime.After(since) {
			continue
		}
		if i > 0 && len(points) > 0 && time.Duration(r.timestamp-h.rows[i-1].timestamp) > gap {
			points = append(points, view.HistoryPoint{Time: points[len(points)-1].Time.Add(gap / silentIntervals)})
		}
		point := view.HistoryPoint{Time: rowTime}
		if v := decimal(r.values[column]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			point.Value, any = &v, true
		}
		points = append(points, point)
	}
	if !any {
		return []view.HistoryPoint{}
	}
	return points
}

// expire forgets devices that were not heard of for as long as the history goes back.
func (p *pasts) expire(now time.Duration) {
	for id, past := range p.byID {
		if now-past.lastUpdate > p.keep {
			delete(p.byID, id)
		}
	}
}

// decimal returns the number with the fewest digits that is equal to the kept one: 0.97 and not 0.9700000286102295.
func decimal(value float32) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(float64(value), 'g', -1, 32), 64)
	return v
}
