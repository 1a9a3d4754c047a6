// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Samples from long before the first read do not show what the GPU does now: the driver may have stopped when the GPU became idle.
func TestSamplesFromLongAgo(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nsample.period = 0.2\nutil.gpu = steps(0:95, 10.05:3)\nutil.memory = steps(0:50, 10.05:2)\n"+
		"util.encoder = steps(0:40, 10.05:0)", WithInterval(10*time.Second))
	b.schedule(10.1, "")
	b.clock = b.clock.Add(5 * time.Hour)
	d := gpuAt(t, b.read(), 0)
	approx(t, 0.03, d.Utilization[gpu.TaskGeneral], "the value of now")
	approx(t, 0.02, d.MemoryController, "the value of now")
	assert.Equal(t, gpu.Some(0.0), d.Utilization[gpu.TaskEncoder])
}
