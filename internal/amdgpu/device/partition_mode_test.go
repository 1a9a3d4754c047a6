// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/gpumetrics"
	"github.com/otelgpu/gpureceiver/internal/amdgpu/scan"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestPartitionCount(t *testing.T) {
	for name, test := range map[string]struct {
		profile string
		nodes   []int // their partitions
		table   uint64
		want    int
	}{
		"whole":                     {"SPX", []int{0}, 1, 0},
		"no mode":                   {"", []int{0}, 0, 0},
		"another function":          {"", []int{3}, 0, 0},
		"whole, whatever the table": {"SPX", []int{0}, 8, 0},
		"all seen":                  {"CPX", []int{0, 1, 2, 3, 4, 5, 6, 7}, 8, 8},
		"some seen":                 {"CPX", []int{3, 5}, 8, 8},
		"no table":                  {"CPX", []int{3, 5}, 0, 6},
		"one, no table":             {"CPX", []int{3}, 0, 4},
		"mode alone":                {"QPX", []int{1}, 0, 4},
		"nothing seen":              {"DPX", nil, 0, 2},
		"three":                     {"TPX", []int{0}, 0, 3},
		"mode unread":               {"", []int{3}, 8, 8},
		"table not believable":      {"CPX", []int{1}, 200, 2},
		"topology is ahead":         {"SPX", []int{0, 1}, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var nodes []scan.Node
			for _, n := range test.nodes {
				nodes = append(nodes, scan.Node{Partition: n})
			}
			var table gpumetrics.Table
			if test.table > 0 {
				table.Partitions = gpu.Some(test.table)
			}
			var c partitionCount
			assert.Equal(t, test.want, c.count(test.profile, nodes, &table))
		})
	}
}

func TestMemoryMode(t *testing.T) {
	for text, want := range map[string]string{"NPS1\n": "NPS1", "nps4": "NPS4", "UNKNOWN\n": "", "": ""} {
		assert.Equal(t, want, readMemoryMode(&reader{readFile: func(string) ([]byte, error) { return []byte(text), nil }}), text)
	}
}
