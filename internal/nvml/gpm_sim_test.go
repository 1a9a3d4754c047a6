// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestGPM(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual\n[gpu 0]\ngpm.graphics = 81\ngpm.sm = steps(0:10, 15:20)\ngpm.occupancy = 33\ngpm.tensor = 44\n"+
		"gpm.fp64 = 1\ngpm.fp32 = 2\ngpm.fp16 = 3\ngpm.integer = 4\ngpm.dram = 5\n[gpu 1]\nboard = a100")
	b.schedule(10, "")
	assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, gpuAt(t, b.read(), 0).Pipes, "it takes two reads")
	b.schedule(10.05, "")
	assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, gpuAt(t, b.read(), 0).Pipes, "too close to the last one")
	b.schedule(20, "")
	n := b.read()
	d := gpuAt(t, n, 0)
	for pipe, want := range map[gpu.Pipe]float64{
		gpu.PipeGraphics: 0.81, gpu.PipeSM: 0.15, gpu.PipeTensor: 0.44, gpu.PipeFP64: 0.01, gpu.PipeFP32: 0.02,
		gpu.PipeFP16: 0.03, gpu.PipeInteger: 0.04, gpu.PipeDRAM: 0.05,
	} {
		assert.InDelta(t, want, value2(t, d.Pipes[pipe]), 0.001, "pipe %d", pipe)
	}
	assert.InDelta(t, 0.33, value2(t, d.Occupancy), 0.001)
	assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, gpuAt(t, n, 1).Pipes, "older than Hopper")
	assert.Empty(t, n.Problems)
}
