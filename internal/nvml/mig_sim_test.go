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

const partitioned = `
gpus = 2
time = manual
[gpu *]
board = h100
util.gpu = 60
power = 330
[gpu 0]
mig = 1
[mig 0 0]
profile = 3g.40gb
gi = 2
ci = 0
gpm.graphics = 80
gpm.occupancy = 30
ecc.volatile.uncorrected.sram = 2
[mig 0 1]
profile = 1c.2g.20gb
gi = 5
ci = 0
gpm.graphics = 25
[mig 0 3]
profile = 1c.2g.20gb
gi = 5
ci = 1
[process large]
gpu = 0
mig = 0
pid = 51001
memory = 30Gi
[process small]
gpu = 0
mig = 3
pid = 51002
memory = raw(0xFFFFFFFFFFFFFFFF)
[process whole]
gpu = 1
pid = 51003
memory = 22Gi
sm = 55
`

// child finds a MIG instance by its index on its GPU.
func child(t *testing.T, n *gpu.Node, parent string, index int) *gpu.Device {
	t.Helper()
	for i := range n.Devices {
		d := &n.Devices[i]
		if got, _ := d.Index.Get(); d.Parent == parent && got == index {
			return d
		}
	}
	require.FailNow(t, "no such instance", "%d of %s in %v", index, parent, ids(n))
	return nil
}

func TestMIG(t *testing.T) {
	b := start(t, partitioned)
	b.read()
	b.schedule(10, "")
	n := b.read()
	assert.Empty(t, n.Problems)
	require.Len(t, ids(n), 5)

	parent := gpuAt(t, n, 0)
	assert.Same(t, &n.Devices[0], parent, "the GPU comes before its instances")
	approx(t, 330, parent.Power.Draw, "power")
	assert.False(t, parent.Utilization[gpu.TaskGeneral].Known(), "the driver does not report it")
	assert.Equal(t, gpu.RemappedRows{}, parent.RemappedRows)
	assert.True(t, parent.Memory.Usage.Known())

	d := child(t, n, parent.ID, 0)
	assert.Regexp(t, "^MIG-[0-9a-f-]{36}$", d.ID)
	assert.Equal(t, "nvidia0/gi2/ci0", d.Name)
	assert.Equal(t, parent.Model, d.Model)
	assert.Equal(t, gpu.NVIDIA, d.Vendor)
	assert.Equal(t, "3g.40gb", d.Info.Profile)
	assert.Equal(t, gpu.Some(2), d.GPUInstance)
	assert.Equal(t, gpu.Some(0), d.ComputeInstance)
	assert.Equal(t, d.Index, d.CurrentIndex)
	assert.Equal(t, parent.Info.PCIAddress, d.Info.PCIAddress)
	assert.Equal(t, gpu.Some[int64](30<<30), d.Memory.Usage)
	assert.Less(t, value2(t, d.Memory.Limit), value2(t, parent.Memory.Limit))
	assert.False(t, d.Power.Draw.Known() || d.Temperature[gpu.SensorGPU].Known() || d.Energy.Known(), "the GPU's alone")
	approx(t, 0.8, d.Pipes[gpu.PipeGraphics], "graphics pipe")
	approx(t, 0.3, d.Occupancy, "occupancy")

	assert.Equal(t, []gpu.ErrorCount{{Type: gpu.ErrorUncorrected, Count: gpu.Total[int64](2)}}, d.Errors)

	shared := child(t, n, parent.ID, 1)
	assert.Equal(t, []gpu.ErrorCount{{Type: gpu.ErrorUncorrected, Count: gpu.Total[int64](0)}}, shared.Errors)
	assert.Equal(t, "1c.2g.20gb", shared.Info.Profile)
	assert.False(t, shared.Pipes[gpu.PipeGraphics].Known(), "two compute instances share what is measured")

	byPID := map[int64]gpu.Process{}
	for _, p := range n.Processes {
		require.NotContains(t, byPID, p.PID, "a process of an instance is not its GPU's as well")
		byPID[p.PID] = p
	}
	assert.Equal(t, gpu.Process{
		PID: 51001, DeviceID: d.ID, Type: gpu.ProcessCompute, Memory: gpu.Some[int64](30 << 30),
	}, byPID[51001])
	assert.Equal(t, child(t, n, parent.ID, 3).ID, byPID[51002].DeviceID)
	assert.False(t, byPID[51002].Memory.Known(), "the driver does not report it")
	whole := byPID[51003]
	assert.Equal(t, gpuAt(t, n, 1).ID, whole.DeviceID)
	approx(t, 0.55, whole.Utilization[gpu.TaskGeneral], "utilization by process")

	assert.Equal(t, [2]int64{2, 0}, presence(n), "instances are no GPUs")
}

// An instance without error counts does not affect the others.
func TestInstanceWithoutErrors(t *testing.T) {
	b := start(t, partitioned+"[mig 0 1]\necc.volatile.uncorrected.sram = unsupported\n")
	n := b.read()
	parent := gpuAt(t, n, 0).ID
	assert.Len(t, child(t, n, parent, 0).Errors, 1)
	assert.Empty(t, child(t, n, parent, 1).Errors)
	assert.Len(t, child(t, n, parent, 3).Errors, 1)
	assert.Empty(t, n.Problems)
}

// If ECC is off nothing is counted, which is not 0.
func TestInstancesWithoutECC(t *testing.T) {
	b := start(t, partitioned+"[gpu 0]\necc = 0\n")
	n := b.read()
	for _, index := range []int{0, 1, 3} {
		assert.Empty(t, child(t, n, gpuAt(t, n, 0).ID, index).Errors)
	}
	assert.Empty(t, n.Problems)
}

// The partitioning changes while the source runs: the next read follows.
func TestRepartitioning(t *testing.T) {
	b := start(t, partitioned)
	first := b.read()
	parent := gpuAt(t, first, 0).ID
	missing := child(t, first, parent, 3).ID

	b.set("[mig 0 3]\npresent = false")
	n := b.read()
	require.Len(t, ids(n), 4)
	assert.NotContains(t, ids(n), missing)

	b.schedule(10, "[gpu 0]\nmig = 0")
	n = b.read()
	require.Len(t, ids(n), 2)
	approx(t, 0.6, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral], "what the GPU could not report before")
	assert.True(t, gpuAt(t, n, 0).RemappedRows.Pending.Known())

	b.set("[gpu 1]\nmig = 1\n[mig 1 2]\nprofile = 7g.80gb\ngi = 0\nci = 0")
	n = b.read()
	require.Len(t, ids(n), 6)
	assert.Equal(t, gpuAt(t, n, 1).ID, n.Devices[5].Parent)
	assert.False(t, gpuAt(t, n, 1).Utilization[gpu.TaskGeneral].Known())
	assert.Empty(t, n.Problems)
}

func TestLostGPUKeepsItsInstances(t *testing.T) {
	b := start(t, partitioned)
	before := ids(b.read())
	b.set("[fault f]\ngpu = 0\nkind = lost")
	n := b.read()
	assert.Equal(t, before, ids(n))
	for _, d := range n.Devices[:4] {
		assert.Equal(t, gpu.StateFailed, d.State())
	}
	assert.Equal(t, gpu.StateOK, gpuAt(t, n, 1).State())
}

// An instance that vanishes while it is read causes no problem.
func TestInstanceVanishes(t *testing.T) {
	b := start(t, partitioned)
	b.read()
	b.set("[fault f]\ngpu = 0\nmig = 1\nreturn = INVALID_ARGUMENT")
	n := b.read()
	assert.Empty(t, n.Problems)
	require.NotEmpty(t, ids(n))
	assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
}

func TestSteadyMIGMakesNoFailingCall(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, partitioned)
	for i := range 3 {
		b.schedule(float64(10*i), "")
		b.read()
	}
	counters.Reset()
	b.schedule(40, "")
	b.read()
	assert.Zero(t, counters.TotalErrors())
}
