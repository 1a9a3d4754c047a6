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
	// Half of the points are of the last eighth of the history's time, half of the time before.
	recentShare = 8
	// spareRows is the number of rows beside the full buckets: the newest row, and the rows of buckets that begin or end a half.
	spareRows = 4

	// trustedClocks is how far the clock of a node may be from this one's, or how late a message may be, before the times of the history
	// are moved to this clock.
	trustedClocks = time.Minute
)

// pasts has the recent past of each device. It outlives the device, so that one that comes back, or moves to another node, keeps it.
type pasts struct {
	keep   time.Duration
	points int // of each device
	max    int
	byID   map[string]*history
}

// buckets returns how long the buckets of the last eighth are, and the buckets before.
func (p *pasts) buckets() (recent, old time.Duration) {
	half := time.Duration(max(1, (p.points-spareRows)/2))
	recent = p.keep / recentShare / half
	return max(recent, 1), max((p.keep-p.keep/recentShare)/half, 1)
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

// row contains what was read in one bucket of time. The newest row is one reading. A mean of NaN means that nothing was read.
type row struct {
	timestamp   pcommon.Timestamp // of the first reading
	count       uint32            // of readings
	means       [numColumns]float32
	lows, highs [numColumns]coarse
}

// merge adds the readings of a later row. A value that a reading does not have counts as the mean of the others.
func (r *row) merge(later *row) {
	weight := float32(later.count) / float32(r.count+later.count)
	for i, mean := range later.means {
		switch {
		case math.IsNaN(float64(mean)):
		case math.IsNaN(float64(r.means[i])):
			r.means[i], r.lows[i], r.highs[i] = mean, later.lows[i], later.highs[i]
		default:
			r.means[i] += (mean - r.means[i]) * weight
			if later.lows[i].value() < r.lows[i].value() {
				r.lows[i] = later.lows[i]
			}
			if later.highs[i].value() > r.highs[i].value() {
				r.highs[i] = later.highs[i]
			}
		}
	}
	r.count += later.count
}

// coarse is the upper half of a float32: 8 bits of its digits, so that minimum and maximum take no more room than the mean.
type coarse uint16

func (c coarse) value() float32 { return math.Float32frombits(uint32(c) << 16) }

// below returns the largest coarse number that is not above a number, above the smallest that is not below it.
func below(v float32) coarse { return rounded(v, v < 0) }
func above(v float32) coarse { return rounded(v, v > 0) }

func rounded(v float32, away bool) coarse {
	bits := math.Float32bits(v)
	if away && bits&0xffff != 0 {
		bits += 1 << 16
	}
	return coarse(bits >> 16)
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
		past.thin(p, timestamp)
		past.append(timestamp, p.points)
	}
	past.fill(g)
}

func (h *history) append(timestamp pcommon.Timestamp, most int) {
	if n := len(h.rows); n == cap(h.rows) {
		h.rows = append(make([]row, 0, max(n+1, min(n+8, most))), h.rows...)
	}
	h.rows = append(h.rows, row{timestamp: timestamp, count: 1})
	h.before, h.last = h.last, [numColumns]total{}
}

// fill sets the values of the last row.
func (h *history) fill(g *view.GPU) {
	r := &h.rows[len(h.rows)-1]
	for i := range columns {
		v := columns[i].value(g)
		mean := float32(math.NaN())
		switch {
		case v == nil:
		case !columns[i].rate:
			mean = float32(*v)
		default:
			h.last[i] = total{*v, r.timestamp}
			if old := h.before[i]; old.timestamp > 0 && old.timestamp < r.timestamp && old.value <= *v {
				mean = float32((*v - old.value) / time.Duration(r.timestamp-old.timestamp).Seconds())
			}
		}
		r.means[i], r.lows[i], r.highs[i] = mean, below(mean), above(mean)
	}
}

// thin removes rows that are too old at a time, and merges rows of one bucket.
func (h *history) thin(p *pasts, now pcommon.Timestamp) {
	recent, old := p.buckets()
	rows := h.rows[:0]
	for i := range h.rows {
		r := &h.rows[i]
		age, bucket := time.Duration(now-r.timestamp), pcommon.Timestamp(old)
		if age < p.keep/recentShare {
			bucket = pcommon.Timestamp(recent)
		}
		switch n := len(rows); {
		case age > p.keep:
		case n > 0 && rows[n-1].timestamp/bucket == r.timestamp/bucket:
			rows[n-1].merge(r)
		default:
			rows = append(rows, *r)
		}
	}
	h.rows = rows
}

// points returns the values of one column after a time, with a null if nothing was read for long.
func (h *history) points(column int, since time.Time, p *pasts) []view.HistoryPoint {
	points, any := []view.HistoryPoint{}, false
	recent, old := p.buckets()
	for i, r := range h.rows {
		rowTime := r.timestamp.AsTime().Add(h.offset)
		if !rowTime.After(since) {
			continue
		}
		if i > 0 && len(points) > 0 {
			gap, before := h.silence+recent, h.rows[i-1].timestamp
			if time.Duration(h.rows[len(h.rows)-1].timestamp-before) >= p.keep/recentShare {
				gap = h.silence + old
			}
			if time.Duration(r.timestamp-before) > gap {
				points = append(points, view.HistoryPoint{Time: points[len(points)-1].Time.Add(gap)})
			}
		}
		point := view.HistoryPoint{Time: rowTime}
		if v := decimal(r.means[column]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			low, high := v, v
			if c := r.lows[column]; c != below(r.means[column]) {
				low = decimal(c.value())
			}
			if c := r.highs[column]; c != above(r.means[column]) {
				high = decimal(c.value())
			}
			point.Value, point.Min, point.Max, any = &v, floatOf(low), floatOf(high), true
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
