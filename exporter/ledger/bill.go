// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// amount is what a holder used of a device from start to end, or its unallocated and unknown time, with holder "". Times are GPU-seconds: the seconds times the
// share of the GPU. In each amount of a device, held, unallocated and unknown time add up to its seconds times its share of the GPU; busy,
// idle and unknown use to the held time.
type amount struct {
	device, holder       string
	columns              []map[string]any // of the device and the holder
	start, end           time.Time
	share                float64
	heldTime, busy, idle float64
	unknownUse           float64
	unallocated          float64
	unknown              float64
	energy               *float64 // nil if it was not read
	memory               *int64
}

// bill divides the time between two reads of a GPU. The first read says who had it. Of a time that is longer than maxGap the holder is
// unknown: the collector may have been away.
func bill(former, next *read, maxGap time.Duration) []amount {
	start, end := former.Time.AsTime(), next.Time.AsTime()
	known := end.Sub(start) <= maxGap
	var amounts []amount
	shares := deviceShares(former)
	for _, id := range slices.Sorted(maps.Keys(former.Devices)) {
		d := former.Devices[id]
		a := amount{device: id, columns: []map[string]any{d.Columns, former.model()}, start: start, end: end, share: shares[id]}
		var after map[string]*holder
		if next.Devices[id] != nil {
			after = next.Devices[id].Holders
		}
		amounts = append(amounts, d.bill(a, after, known, former.freeOf(id))...)
	}
	return amounts
}

// model returns the column with the model of the GPU. The time of its partitions, whose names are longer, counts for it.
func (r *read) model() map[string]any {
	gpu := r.Devices[r.GPU]
	if gpu == nil || gpu.Columns["hw_model"] == nil {
		return nil
	}
	return map[string]any{"hw_model": gpu.Columns["hw_model"]}
}

// freeOf reports whether the part of a device that has no holder is known to be unallocated. The part of a GPU that none of its partitions
// has is unallocated if it is known who holds the partitions.
func (r *read) freeOf(id string) bool {
	d := r.Devices[id]
	if len(d.Holders) > 0 || d.Allocated != nil && !*d.Allocated {
		return true
	}
	for other, partition := range r.Devices {
		if id == r.GPU && other != id && partition.Allocated != nil {
			return true
		}
	}
	return false
}

// bill divides the time of one device among its holders. total has the device and the time.
func (d *device) bill(total amount, after map[string]*holder, known, free bool) []amount {
	var amounts []amount
	rest := 1.0 // of the device
	shares := holderShares(d.Holders)
	for _, id := range slices.Sorted(maps.Keys(d.Holders)) {
		a := total
		a.holder, a.columns, a.share = id, append(slices.Clone(total.columns), d.Holders[id].Columns), total.share*shares[id]
		d.Holders[id].use(&a, after[id], known)
		if known {
			rest -= shares[id]
		}
		if known || a.energy != nil && *a.energy > 0 {
			amounts = append(amounts, a)
		}
	}
	if rest = math.Max(rest, 0); rest < 1e-9 {
		return amounts
	}
	a := total
	a.share *= rest
	seconds := a.share * a.end.Sub(a.start).Seconds()
	if known && free {
		a.unallocated = seconds
	} else {
		a.unknown = seconds
	}
	return append(amounts, a)
}

// use sets what a holder used. after is the same holder at the end, nil if it has gone.
func (h *holder) use(a *amount, after *holder, known bool) {
	if after == nil {
		after = &holder{}
	}
	if energy, ok := after.Energy.since(h.Energy); ok {
		a.energy = &energy
	}
	a.memory = h.Memory
	if !known {
		return
	}
	seconds := a.end.Sub(a.start).Seconds()
	a.heldTime = a.share * seconds
	if idle, ok := after.Idle.since(h.Idle); ok {
		a.idle = a.share * math.Min(idle, seconds)
		a.busy = a.heldTime - a.idle
	} else {
		a.unknownUse = a.heldTime
	}
}

// holderShares returns the parts of a device by holder, which add up to at most 1. Holders without a part of their own divide what the
// others leave.
func holderShares(holders map[string]*holder) map[string]float64 {
	assigned, without := 0.0, 0
	for _, h := range holders {
		if h.Share == nil {
			without++
		} else {
			assigned += bounded(*h.Share)
		}
	}
	shares := map[string]float64{}
	for id, h := range holders {
		switch {
		case h.Share != nil:
			shares[id] = bounded(*h.Share) / math.Max(assigned, 1)
		default:
			shares[id] = math.Max(1-assigned, 0) / float64(without)
		}
	}
	return shares
}

func bounded(share float64) float64 {
	if !(share > 0) { // NaN too
		return 0
	}
	return math.Min(share, 1)
}

// computeSlices is the part of the GPU's compute slices in the profile of a MIG instance (3g.40gb) or compute instance (1c.3g.40gb).
var computeSlices = regexp.MustCompile(`^(\d+)[cg]\.`)

// deviceShares returns the parts of a GPU by device, which add up to 1. A MIG instance has its compute slices of the GPU's; AMD's partitions
// are equal. What no partition has is the GPU's own.
func deviceShares(r *read) map[string]float64 {
	shares := map[string]float64{}
	sum := 0.0
	for id, d := range r.Devices {
		if id != r.GPU {
			shares[id] = d.partOfGPU(len(r.Devices))
			sum += shares[id]
		}
	}
	for id := range shares {
		shares[id] /= math.Max(sum, 1)
	}
	if r.Devices[r.GPU] != nil {
		shares[r.GPU] = math.Max(1-sum, 0)
	}
	return shares
}

// partOfGPU returns the share of a partition. devices is the number of the GPU's partitions and the GPU.
func (d *device) partOfGPU(devices int) float64 {
	profile, _ := d.Columns["hw_gpu_partition_profile"].(string)
	match := computeSlices.FindStringSubmatch(profile)
	if match == nil {
		return 1 / float64(max(devices-1, 1))
	}
	slices, all := 0.0, 7.0
	slices, _ = strconv.ParseFloat(match[1], 64)
	if model, _ := d.Columns["hw_model"].(string); strings.Contains(model, "A30") {
		all = 4
	}
	return math.Min(slices/all, 1)
}

// hours divides an amount at full hours. Energy and times are spread evenly.
func (a *amount) hours() []amount {
	var parts []amount
	whole := a.end.Sub(a.start).Seconds()
	for start := a.start; start.Before(a.end); {
		end := start.Truncate(time.Hour).Add(time.Hour)
		if end.After(a.end) {
			end = a.end
		}
		part := *a
		part.start, part.end = start, end
		f := end.Sub(start).Seconds() / whole
		for _, v := range []*float64{&part.heldTime, &part.busy, &part.idle, &part.unknownUse, &part.unallocated, &part.unknown} {
			*v *= f
		}
		if a.energy != nil {
			part.energy = new(*a.energy * f)
		}
		parts = append(parts, part)
		start = end
	}
	return parts
}
