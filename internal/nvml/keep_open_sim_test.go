// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// While a GPU needs a reset, NVML is shut down after each read and opened again without the GPU, and the other GPUs have all their data.
func TestClosesForAReset(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2")
	counters.Reset()
	b.read()
	b.read()
	assert.Equal(t, [2]uint64{1, 0}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})

	b.set("[gpu 1]\nrecovery_action = 1")
	b.read()
	assert.Nil(t, b.driver.session.handles[1].gpu.Load())
	assert.Equal(t, [2]uint64{2, 1}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})
	healthy(t, b.read(), 2, 1)
	assert.Equal(t, [2]uint64{3, 2}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})

	b.set("")
	healthy(t, b.read(), 2)
	b.read()
	assert.NotNil(t, b.driver.session.handles[1].gpu.Load(), "held again")
	assert.Equal(t, [2]uint64{3, 2}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})
}

// If XIDs are not wanted, there is nothing to open NVML again for.
func TestStaysClosedWithoutEvents(t *testing.T) {
	b := start(t, "gpus = 2\n[gpu 1]\nrecovery_action = 1", gpu.GroupAll&^gpu.GroupEvents)
	b.read()
	assert.Nil(t, b.driver.session)
}

func TestOpenForEachRead(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2", func(c *Config) { c.KeepOpen = false })
	epoch := gpuAt(t, b.read(), 0).Epoch
	counters.Reset()
	for i := range 3 {
		n := b.read()
		healthy(t, n, 2)
		assert.Nil(t, b.driver.session)
		assert.Equal(t, epoch, gpuAt(t, n, 0).Epoch, "the driver's counters go on")
		assert.Equal(t, [2]uint64{uint64(i) + 1, uint64(i) + 1}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})
	}
	counters.Reset()
	b.read()
	assert.Zero(t, counters.TotalErrors(), "what was learnt is kept")
	assert.Zero(t, counters.Calls("nvmlDeviceGetSerial"))
	assert.Zero(t, counters.Calls("nvmlEventSetCreate"))
}
