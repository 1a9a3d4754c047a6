// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestMergedProcesses(t *testing.T) {
	var m mergedProcesses
	for range 2 {
		m.clear()
		m.add(1, gpu.Opt[int64]{}, gpu.ProcessCompute)
		m.add(2, gpu.Some[int64](7), gpu.ProcessCompute)
		m.add(1, gpu.Some[int64](5), gpu.ProcessGraphics)
		m.add(2, gpu.Some[int64](9), gpu.ProcessMPS)
		assert.Equal(t, []gpu.Process{
			{PID: 1, Memory: gpu.Some[int64](5), Type: gpu.ProcessComputeGraphics},
			{PID: 2, Memory: gpu.Some[int64](7), Type: gpu.ProcessMPS},
		}, m.all)
	}
}
