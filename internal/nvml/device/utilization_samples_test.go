// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

func samplesOf(pairs ...uint64) []library.Sample {
	var all []library.Sample
	for i := 0; i < len(pairs); i += 2 {
		s := library.Sample{Time: pairs[i]}
		binary.NativeEndian.PutUint32(s.Value[:], uint32(pairs[i+1]))
		all = append(all, s)
	}
	return all
}

func TestMean(t *testing.T) {
	var m mean
	_, ok := m.take()
	assert.False(t, ok)
	m.add(samplesOf(20, 60, 10, 30, 0, 0, 0, 0), library.TypeUnsignedInt) // in any order, empty entries at the end
	v, ok := m.take()
	assert.True(t, ok)
	assert.InEpsilon(t, 0.45, v, 1e-9)
	assert.Equal(t, uint64(20), m.last)

	m.add(samplesOf(10, 100, 20, 100, 30, 40), library.TypeUnsignedInt)
	m.add(samplesOf(40, 20, 41, 101), library.TypeUnsignedInt)
	v, ok = m.take()
	assert.True(t, ok)
	assert.InEpsilon(t, 0.3, v, 1e-9, "what was seen does not count again, nor what is more than all")
	_, ok = m.take()
	assert.False(t, ok)

	m.add([]library.Sample{{Time: 50}}, library.TypeDouble)
	_, ok = m.take()
	assert.False(t, ok, "of a type that NVML does not use for percent")

	var first mean
	all := samplesOf(1_000_000, 100, 5_000_000, 0, 6_000_000, 50)
	first.start(all, time.Unix(0, 0), 2*time.Second)
	first.add(all, library.TypeUnsignedInt)
	v, _ = first.take()
	assert.InEpsilon(t, 0.25, v, 1e-9, "the last two seconds")
}

func TestRingSpan(t *testing.T) {
	assert.Zero(t, ringSpan(nil))
	assert.Zero(t, ringSpan(samplesOf(10, 1)))
	assert.Equal(t, uint64(30), ringSpan(samplesOf(30, 1, 20, 1, 40, 1, 0, 0)))
}

func FuzzMean(f *testing.F) {
	f.Add(uint32(library.TypeDouble), uint64(1<<63))
	f.Add(uint32(library.TypeUnsignedInt), uint64(100))
	f.Fuzz(func(t *testing.T, kind uint32, bits uint64) {
		s := library.Sample{Time: 1}
		binary.NativeEndian.PutUint64(s.Value[:], bits)
		var m mean
		m.add([]library.Sample{s}, kind)
		if u, ok := m.take(); ok && (u < 0 || u > 1) {
			t.Errorf("utilization %v", u)
		}
	})
}
