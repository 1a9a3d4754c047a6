// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const (
	maxLinks      = 8
	maxPartitions = 8

	// energyUnit is what the energy accumulators of the firmware count in: 2^-16 J, which is 15.259 µJ.
	energyUnit = 1.0 / 65536
)

// errRevision: a gpu_metrics table of a revision that this program does not know.
var errRevision = errors.New("not a revision that is known; what only this table tells is absent")

// metrics is what a gpu_metrics table tells, as far as it is made use of. Values that the driver has not got, all bits of
// which are ones, are absent.
type metrics struct {
	revision revision

	temperature [gpu.NumSensors]gpu.Opt[float64] // °C

	gfx, controller gpu.Opt[float64] // fraction of time
	jpeg            gpu.Opt[float64] // fraction of time, the mean of the engines

	averagePower, currentPower gpu.Opt[float64] // W
	energy                     gpu.Opt[uint64]  // energyUnit
	clockCounter               gpu.Opt[uint64]  // ns of the driver's clock when the table was made

	gfxClock, memoryClock, videoClock gpu.Opt[float64] // Hz

	throttle      gpu.Opt[uint64] // bits of throttleReasons
	accumulations gpu.Opt[uint32] // times that the firmware looked at its limiters, and of these:
	residencies   [numResidencies]gpu.Opt[uint32]

	linkGeneration, linkWidth gpu.Opt[int64]
	replays                   gpu.Opt[uint64]

	xgmiRead, xgmiWritten [maxLinks]gpu.Opt[uint64] // KiB

	partitions gpu.Opt[uint64]
	shares     [maxPartitions]share
}

// share is what a partition does, as a fraction of time. How busy its video engines are is left out: they encode and decode
// alike, and neither is what they do.
type share struct{ gfx, jpeg gpu.Opt[float64] }

// decoder reads gpu_metrics tables. It keeps nothing between them.
type decoder struct {
	layouts   map[table]*layout
	partition *layout
}

func newDecoder() *decoder { return &decoder{layouts: newLayouts(), partition: newPartitionLayout()} }

// decode reads a table into m. The error wraps errRevision where the revision is unknown.
func (d *decoder) decode(m *metrics, text []byte) error {
	*m = metrics{}
	if len(text) < 4 {
		return fmt.Errorf("gpu_metrics of %d bytes: %w", len(text), errGarbage)
	}
	size := int(binary.LittleEndian.Uint16(text))
	m.revision = revision{format: text[2], content: text[3]}
	if size < 4 || size > len(text) {
		return fmt.Errorf("gpu_metrics v%d.%d gives its size as %d bytes, of which there are %d: %w",
			m.revision.format, m.revision.content, size, len(text), errGarbage)
	}
	text = text[:size]
	if m.revision == (revision{1, 9}) {
		return d.decodeAttributes(m, text)
	}
	l := d.layouts[table{m.revision, size}]
	if l == nil {
		if known(d.layouts, m.revision) {
			return fmt.Errorf("gpu_metrics v%d.%d of %d bytes: no size of that revision: %w",
				m.revision.format, m.revision.content, size, errGarbage)
		}
		return fmt.Errorf("gpu_metrics v%d.%d: %w", m.revision.format, m.revision.content, errRevision)
	}
	d.sensors(m, cursor{text, l})
	d.counters(m, cursor{text, l})
	if shares := l.fields[fieldShares]; l.share != nil {
		m.partitions = cursor{text, l}.uint(fieldPartitions, 0)
		for i := range shares.count {
			at := shares.offset + i*shares.size
			c := cursor{text[at : at+shares.size], l.share}
			m.shares[i] = share{
				gfx:  c.mean(fieldGFXActivity),
				jpeg: c.mean(fieldJPEG),
			}
		}
	}
	return nil
}

func (*decoder) sensors(m *metrics, c cursor) {
	m.temperature[gpu.SensorEdge] = c.float(fieldEdge, 1, coldest, hottest)
	m.temperature[gpu.SensorHotspot] = c.float(fieldHotspot, 1, coldest, hottest)
	m.temperature[gpu.SensorMemory] = c.hottest(fieldHBM).Or(c.float(fieldMemory, 1, coldest, hottest))
	m.gfx = c.float(fieldGFXActivity, percent, 0, 1)
	m.controller = c.float(fieldUMCActivity, percent, 0, 1)
	m.jpeg = c.mean(fieldJPEG)
	m.averagePower = c.float(fieldAveragePower, 1, 0, mostPower)
	m.currentPower = c.float(fieldCurrentPower, 1, 0, mostPower)
	m.gfxClock = c.fastest(fieldGFXClock)
	m.memoryClock = c.fastest(fieldMemoryClock)
	m.videoClock = c.fastest(fieldVideoClock)
	m.linkGeneration, m.linkWidth = link(c.uint(fieldLinkSpeed, 0), c.uint(fieldLinkWidth, 0))
}

func (*decoder) counters(m *metrics, c cursor) {
	m.energy = c.uint(fieldEnergy, 0)
	if units, ok := m.energy.Get(); ok && units == math.MaxUint32 && m.revision.counts32() {
		// Of firmware that does not count, as on Radeon RX 7000 and 9000, the driver writes 32 ones, whatever the size of the
		// field. Of a true counter of 32 bits that passes through this value a single read is lost.
		m.energy = gpu.Opt[uint64]{}
	}
	m.clockCounter = c.uint(fieldClockCounter, 0)
	m.throttle = c.uint(fieldThrottle, 0)
	m.replays = c.uint(fieldReplays, 0)
	m.accumulations = c.uint32(fieldAccumulations)
	for i, id := range residencyFields {
		m.residencies[i] = c.uint32(id)
	}
	for i := range maxLinks {
		m.xgmiRead[i] = c.uint(fieldXGMIRead, i)
		m.xgmiWritten[i] = c.uint(fieldXGMIWrite, i)
	}
}

// link returns the generation of a link by its speed in 0.1 GT/s, and its lanes.
func link(speed, width gpu.Opt[uint64]) (generation, lane gpu.Opt[int64]) {
	if v, ok := speed.Get(); ok {
		generation = generationOf(v)
	}
	if v, ok := width.Get(); ok {
		lane = lanes(v)
	}
	return generation, lane
}

// cursor reads the fields of a table whose size was checked to be that of the layout.
type cursor struct {
	text   []byte
	layout *layout
}

// uint reads one of the values of a field.
func (c cursor) uint(id fieldID, i int) gpu.Opt[uint64] {
	f := &c.layout.fields[id]
	if i >= f.count {
		return gpu.Opt[uint64]{}
	}
	return value(c.text[f.offset+i*f.size:], f.size)
}

// value reads a little-endian number; one all of whose bits are set is none.
func value(text []byte, size int) gpu.Opt[uint64] {
	var v, none uint64
	switch size {
	case 1:
		v, none = uint64(text[0]), math.MaxUint8
	case 2:
		v, none = uint64(binary.LittleEndian.Uint16(text)), math.MaxUint16
	case 4:
		v, none = uint64(binary.LittleEndian.Uint32(text)), math.MaxUint32
	default:
		v, none = binary.LittleEndian.Uint64(text), math.MaxUint64
	}
	if v == none {
		return gpu.Opt[uint64]{}
	}
	return gpu.Some(v)
}

func (c cursor) uint32(id fieldID) gpu.Opt[uint32] {
	v, ok := c.uint(id, 0).Get()
	if !ok || v > math.MaxUint32 {
		return gpu.Opt[uint32]{}
	}
	return gpu.Some(uint32(v))
}

// float reads a field of which there are per to the SI unit; absent where it is not believable.
func (c cursor) float(id fieldID, per, low, high float64) gpu.Opt[float64] {
	return scaled(c.uint(id, 0), per, low, high)
}

func scaled(v gpu.Opt[uint64], per, low, high float64) gpu.Opt[float64] {
	n, ok := v.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return within(float64(n)/per, low, high)
}

// mean returns the mean of those of a field's percentages that are there: engines of one kind.
func (c cursor) mean(id fieldID) gpu.Opt[float64] {
	return mean(c.layout.fields[id].count, func(i int) gpu.Opt[uint64] { return c.uint(id, i) })
}

// mean returns the mean of n percentages, as far as they are there, as a fraction.
func mean(n int, at func(int) gpu.Opt[uint64]) gpu.Opt[float64] {
	var sum, known float64
	for i := range n {
		if v, ok := at(i).Get(); ok && v <= percent {
			sum += float64(v)
			known++
		}
	}
	if known == 0 {
		return gpu.Opt[float64]{}
	}
	return gpu.Some(sum / known / percent)
}

// hottest returns the highest of a field's temperatures.
func (c cursor) hottest(id fieldID) gpu.Opt[float64] {
	v := highest(c.layout.fields[id].count, func(i int) gpu.Opt[uint64] { return c.uint(id, i) })
	return scaled(v, 1, coldest, hottest)
}

// fastest returns the highest of a field's clocks, which are in MHz, in Hz.
func (c cursor) fastest(id fieldID) gpu.Opt[float64] {
	return hertz(highest(c.layout.fields[id].count, func(i int) gpu.Opt[uint64] { return c.uint(id, i) }))
}

func hertz(mhz gpu.Opt[uint64]) gpu.Opt[float64] {
	v, ok := mhz.Get()
	if !ok {
		return gpu.Opt[float64]{}
	}
	return within(float64(v)*1e6, 0, fastest)
}

// highest returns the highest of n values, as far as they are there.
func highest(n int, at func(int) gpu.Opt[uint64]) gpu.Opt[uint64] {
	var result gpu.Opt[uint64]
	for i := range n {
		v := at(i)
		x, ok := v.Get()
		if old, had := result.Get(); ok && (!had || x > old) {
			result = v
		}
	}
	return result
}
