// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The third version of the lists does not determine how long its entries are: drivers 535.43 to 535.86 have longer ones.
func TestProcessEntries(t *testing.T) {
	for _, entry := range []int{16, 24, 32} {
		for _, count := range []int{1, 2, 5, 64, 70} {
			t.Run(fmt.Sprintf("%d of %d bytes", count, entry), func(t *testing.T) {
				b := start(t, fmt.Sprintf("gpus = 1\n[gpu 0]\nboard = h100\nprocess.entry = %d\n"+
					"[process p]\ngpu = 0\ncount = %d\npid = 51001\nmemory = 2Gi\n"+
					"[process g]\ngpu = 0\ncount = 2\npid = 61001\ntype = graphics\nmemory = 1Gi", entry, count))
				for range 3 {
					n := b.read()
					healthy(t, n, 1)
					assert.Empty(t, n.Problems)
					require.Len(t, n.Processes, count+2)
					for i, p := range n.Processes {
						pid, memory := int64(51001+i), int64(2<<30)
						if i >= count {
							pid, memory = int64(61001+i-count), 1<<30
						}
						assert.Equal(t, pid, p.PID)
						assert.Equal(t, gpu.Some(memory), p.Memory, "of %d", pid)
					}
				}
			})
		}
	}
}
