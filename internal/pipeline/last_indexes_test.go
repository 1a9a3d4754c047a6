// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// indexed is a device with the index that its source shows.
type indexed struct {
	id, parent string
	index      gpu.Opt[int]
}

func TestLastIndexes(t *testing.T) {
	is, none := gpu.Some[int], gpu.Opt[int]{}
	for name, tt := range map[string]struct {
		vendor gpu.Vendor
		reads  [][]indexed
		want   map[string]int // the indexes that the last read is sent with
	}{
		"never shown": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", none}}, {{"a", "", none}}},
			map[string]int{},
		},
		"nothing is shown": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", none}, {"b", "", none}}, {{"a", "", none}, {"b", "", none}}},
			map[string]int{"a": 0, "b": 1},
		},
		"no devices in between": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}}, {}, {{"a", "", none}}},
			map[string]int{"a": 0},
		},
		"the last one is lost": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", is(0)}, {"b", "", none}}},
			map[string]int{"a": 0, "b": 1},
		},
		"the first one is lost, and the second has its index": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", none}, {"b", "", is(0)}}},
			map[string]int{"b": 0},
		},
		"an index that another one has had does not come back": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", none}, {"b", "", is(0)}}, {{"a", "", none}, {"b", "", none}}},
			map[string]int{"b": 0},
		},
		"a new index": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", none}, {"b", "", none}}, {{"a", "", is(1)}, {"b", "", is(0)}}},
			map[string]int{"a": 1, "b": 0},
		},
		"a GPU that was left out": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}}, {{"a", "", is(0)}}, {{"a", "", is(0)}, {"b", "", none}}},
			map[string]int{"a": 0},
		},
		"MIG instances are numbered on their GPU": {
			gpu.NVIDIA,
			[][]indexed{
				{{"a", "", is(0)}, {"a0", "a", is(0)}, {"b", "", is(1)}, {"b0", "b", is(0)}, {"b1", "b", is(1)}},
				{{"a", "", is(0)}, {"a0", "a", is(0)}, {"b", "", none}, {"b0", "b", none}, {"b1", "b", none}},
			},
			map[string]int{"a": 0, "a0": 0, "b": 1, "b0": 0, "b1": 1},
		},
		"a MIG instance has the index of another one": {
			gpu.NVIDIA,
			[][]indexed{{{"a", "", is(0)}, {"a0", "a", is(0)}, {"a1", "a", is(1)}}, {{"a", "", is(0)}, {"a0", "a", none}, {"a1", "a", is(0)}}},
			map[string]int{"a": 0, "a1": 0},
		},
		"a GPU of AMD has the number of its first partition": {
			gpu.AMD,
			[][]indexed{{{"a", "", is(0)}, {"a/0", "a", is(0)}, {"a/1", "a", is(1)}}, {{"a", "", none}, {"a/0", "a", none}, {"a/1", "a", none}}},
			map[string]int{"a": 0, "a/0": 0, "a/1": 1},
		},
		"partitions of another GPU of AMD have its numbers": {
			gpu.AMD,
			[][]indexed{{{"a", "", is(0)}, {"b", "", is(1)}, {"c", "", is(2)}}, {{"a", "", is(0)}, {"a/0", "a", is(0)}, {"a/1", "a", is(1)}, {"b", "", none}, {"c", "", none}}},
			map[string]int{"a": 0, "a/0": 0, "a/1": 1, "c": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var l lastIndexes
			got := map[string]int{}
			for _, read := range tt.reads {
				node := &gpu.Node{Vendor: tt.vendor}
				for _, x := range read {
					node.Devices = append(node.Devices, gpu.Device{ID: x.id, Parent: x.parent, Vendor: tt.vendor, CurrentIndex: x.index})
				}
				l.complete(node)
				clear(got)
				for i := range node.Devices {
					if index, ok := node.Devices[i].CurrentIndex.Get(); ok {
						got[node.Devices[i].ID] = index
					}
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestInfoStaysOneSeries: hw.gpu.info is one series while a read fails or the GPU is lost.
func TestInfoStaysOneSeries(t *testing.T) {
	p, _, _ := newPipeline(nil)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	shown, unread, missing := healthy("GPU-1"), healthy("GPU-1"), lost("GPU-1")
	shown.CurrentIndex = gpu.Some(3)
	unread.Unread = true
	for _, read := range []struct {
		device gpu.Device
		err    error
	}{{shown, nil}, {unread, nil}, {unread, errors.New("the node does not answer")}, {missing, nil}, {shown, nil}} {
		start = start.Add(30 * time.Second)
		node := nodeOf(read.device)
		node.Time = start
		if read.err != nil {
			node = p.Failed(gpu.Host{}, gpu.NVIDIA, start, read.err)
			node.Devices = []gpu.Device{read.device}
		} else {
			p.Take(t.Context(), node)
		}
		metrics := p.Metrics(node)
		assert.Empty(t, otlptest.Of(otlptest.Ended(metrics), "hw.gpu.info"))
		info := otlptest.Of(otlptest.Points(metrics), "hw.gpu.info")
		if assert.Len(t, info, 1) {
			assert.EqualValues(t, 3, info[0].Attributes["hw.gpu.index"])
		}
	}
}
