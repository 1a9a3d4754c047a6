// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// bytesOf returns processes with these numbers of bytes, as they are printed, and one without.
func bytesOf(values ...int64) []process {
	list := make([]process, 0, len(values)+1)
	for _, v := range values {
		list = append(list, process{memory: gpu.Some(v), bytes: true})
	}
	return append(list, process{})
}

func TestScaleOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		list []process
		want memoryScale
	}{
		{"bytes", bytesOf(4096, 0, 1<<30), scaleExact},
		{"KiB times 1000", bytesOf(4000, 0, 1048576000), scaleDecimal},
		{"one shows the scale of the others", bytesOf(512000, 4000), scaleDecimal},
		{"which it is does not show", bytesOf(512000, 0), scaleUnknown},
		{"both", bytesOf(4096, 4000), scaleExact},
		{"neither", bytesOf(4000, 7), scaleExact},
		{"nothing", bytesOf(), scaleUnknown},
		{"no number of bytes", []process{{memory: gpu.Some[int64](1 << 20)}}, scaleUnknown},
	} {
		assert.Equal(t, tt.want, scaleOf(tt.list), tt.name)
	}
}

// Memory that is allocated in pieces of 2 MiB does not show how its number of bytes was converted. The scale that other processes showed
// stays, or else the version decides: the memory of a process does not change because another comes or goes.
func TestScaleIsKept(t *testing.T) {
	t.Parallel()
	const piece = 2048 // KiB
	for _, tt := range []struct {
		name, version string
		reads         [][]process
		want          int64 // of the first process, in the last read
	}{
		{"after another one showed it", "26.0.2", [][]process{bytesOf(piece*1000, 4000), bytesOf(piece * 1000)}, piece * 1024},
		{"by the version", "26.0.2", [][]process{bytesOf(piece * 1000)}, piece * 1024},
		{"a version that was corrected", "26.0.2", [][]process{bytesOf(4096), bytesOf(512000)}, 512000},
		{"a later version", "27.0.0", [][]process{bytesOf(512000)}, 512000},
		{"an earlier version", "23.4.0.0", [][]process{bytesOf(512000)}, 512000},
		{"an unknown version", "", [][]process{bytesOf(512000)}, 512000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newTestSource(&smitest.Tool{})
			s.version = tt.version
			for _, list := range tt.reads {
				s.build.scale.correct(list, major(s.version))
			}
			assert.Equal(t, gpu.Some(tt.want), tt.reads[len(tt.reads)-1][0].memory)
		})
	}
}

// Another version of amd-smi may convert bytes differently.
func TestScaleOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newTestSource(&smitest.Tool{})
	version := func(v string) map[step]answer {
		return map[step]answer{stepVersion: {records: []record{{"version": v}}}}
	}
	s.keep(true, version("26.0.2"))
	s.build.scale.correct(bytesOf(4000), major(s.version))
	assert.Equal(t, scaleDecimal, s.build.scale)
	s.keep(true, version("26.0.2"))
	assert.Equal(t, scaleDecimal, s.build.scale)
	s.keep(true, version("27.0.0"))
	assert.Equal(t, scaleUnknown, s.build.scale)
}

// In another container there may be another version, which is not known yet.
func TestScaleInAnotherContainer(t *testing.T) {
	t.Parallel()
	s := newTestSource(&smitest.Tool{})
	s.version = "26.0.2"
	s.build.scale.correct(bytesOf(2048*1000), major(s.version))
	s.build.scale.correct(bytesOf(4000), major(s.version))
	s.Reset()
	list := bytesOf(512000)
	s.build.scale.correct(list, major(s.version))
	assert.Equal(t, gpu.Some[int64](512000), list[0].memory)
}
