// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The kernel's driver counts the bytes in 32 bits, which a link at work fills many times between two reads. Nobody knows how often,
// so nothing is told, not even from a rest.
func TestPCIeBytesOf32Bits(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\npcie.tx = 1.5G\npcie.rx.bytes = raw(0xFFFFFFFFFFFFFFFF)")
	for i := range 3 { // 45 GB each
		b.at(30*float64(i), "")
		d := gpuAt(t, b.read(), 0)
		assert.Equal(t, gpu.Counter[int64]{}, d.PCIe.Transmitted)
		assert.Equal(t, gpu.Counter[int64]{}, d.PCIe.Received)
	}
}

// A counter that was seen to have more bits counts all, and so does the other.
func TestPCIeBytes(t *testing.T) {
	b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\npcie.tx.bytes = counter(4294967200, 10, reset=60)\npcie.rx.bytes = 5")
	assert.False(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
	for _, step := range []struct {
		at   float64
		want int64
	}{{10, 4294967300}, {50, 4294967700}, {70, 100}} {
		b.at(step.at, "")
		d := gpuAt(t, b.read(), 0)
		total(t, step.want, d.PCIe.Transmitted, "transmitted")
		total[int64](t, 5, d.PCIe.Received, "received")
	}
}

// The call that takes 20 ms is made only where it was asked for and there is nothing better, as before Hopper.
func TestPCIeSampling(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	const without = "gpus = 1\ntime = manual\npcie.measure = 0\n[gpu 0]\nboard = a100\npcie.tx = 2M\npcie.rx = 3M\n"
	const noCounters = "pcie.tx.bytes = unsupported\npcie.rx.bytes = unsupported\n"
	sampling := func(c *Config) { c.PCIeSampling = true }
	t.Run("not asked for", func(t *testing.T) {
		b := start(t, without+noCounters)
		counters.Reset()
		d := gpuAt(t, b.read(), 0)
		assert.False(t, d.PCIe.Transmitted.Known() || d.PCIe.Received.Known())
		assert.Zero(t, counters.Calls("nvmlDeviceGetPcieThroughput"))
	})
	t.Run("not needed", func(t *testing.T) {
		b := start(t, without+"pcie.tx.bytes = 912345678901", sampling)
		counters.Reset()
		assert.True(t, gpuAt(t, b.read(), 0).PCIe.Transmitted.Known())
		assert.Zero(t, counters.Calls("nvmlDeviceGetPcieThroughput"))
	})
	t.Run("counters of 32 bits", func(t *testing.T) {
		b := start(t, without, sampling)
		b.read()
		for i, more := range []string{"", "[gpu 0]\npcie.tx.bytes = 912345678901"} {
			b.at(10*float64(i+1), more)
			sent, _ := gpuAt(t, b.read(), 0).PCIe.Transmitted.Get()
			assert.Equal(t, int64(20e6)*int64(i+1), sent, "one series, of one kind")
		}
	})
	t.Run("asked for", func(t *testing.T) {
		b := start(t, without+noCounters, sampling)
		b.read()
		b.at(10, "")
		d := gpuAt(t, b.read(), 0)
		sent, _ := d.PCIe.Transmitted.Get()
		received, _ := d.PCIe.Received.Get()
		assert.Equal(t, [2]int64{20e6, 30e6}, [2]int64{sent, received})
		assert.Equal(t, manualEpoch, d.PCIe.Transmitted.Since(), "counted by ourselves")
	})
	t.Run("lost for an hour", func(t *testing.T) {
		b := start(t, without+noCounters, sampling)
		b.read()
		b.at(10, "")
		b.read()
		b.at(20, "[fault f]\ngpu = 0\nkind = lost")
		b.read()
		for i, want := range []int64{20e6, 40e6} {
			b.at(3620+10*float64(i), "")
			sent, _ := gpuAt(t, b.read(), 0).PCIe.Transmitted.Get()
			assert.Equal(t, want, sent, "nothing is known of the hour")
		}
	})
}

// NVLink 5 has other counters of errors, and where the older ones of bytes are missing others of bytes, none over all links.
func TestNVLink5(t *testing.T) {
	for name, tt := range map[string]struct {
		fault       string
		transmitted int64
	}{
		"older counters of bytes": {"", 3 << 10},
		"none":                    {"[fault f]\ngpu = 0\nfield = 138, 139\nreturn = NOT_SUPPORTED", 3 * 1500},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = b200\nlinks = 3\nnvlink.tx.bytes = 1500\nnvlink.rx.bytes = 3000\n"+
				"nvlink.recovered = 4\nnvlink.unrecovered = 1\n"+tt.fault)
			for range 2 {
				d := gpuAt(t, b.read(), 0)
				sent, _ := d.Interconnect.Transmitted.Get()
				assert.InDelta(t, tt.transmitted, sent, 1<<10)
				assert.Equal(t, map[gpu.ErrorType]int64{gpu.ErrorLinkRecovery: 15}, onlyLinks(errorCounts(t, d.Errors, false)))
				require.Len(t, d.Interconnect.Links, 3)
				assert.Equal(t, "2", d.Interconnect.Links[2].Name)
				sent, _ = d.Interconnect.Links[2].Transmitted.Get()
				assert.InDelta(t, tt.transmitted/3, sent, 1<<10)
			}
		})
	}
}

func onlyLinks(counts map[gpu.ErrorType]int64) map[gpu.ErrorType]int64 {
	for _, t := range []gpu.ErrorType{gpu.ErrorCorrected, gpu.ErrorUncorrected, gpu.ErrorPCIeReplay} {
		delete(counts, t)
	}
	return counts
}

// Single links cost nothing and show nothing where they are not wanted.
func TestNVLinkTotalsAlone(t *testing.T) {
	for _, board := range []string{"h100", "b200"} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\nboard = "+board, gpu.GroupAll&^gpu.GroupInterconnectLinks)
			d := gpuAt(t, b.read(), 0)
			assert.Empty(t, d.Interconnect.Links)
			assert.True(t, d.Interconnect.Transmitted.Known())
		})
	}
}

func TestGPM(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual\n[gpu 0]\ngpm.graphics = 81\ngpm.sm = steps(0:10, 15:20)\ngpm.occupancy = 33\ngpm.tensor = 44\n"+
		"gpm.fp64 = 1\ngpm.fp32 = 2\ngpm.fp16 = 3\ngpm.integer = 4\ngpm.dram = 5\n[gpu 1]\nboard = a100")
	b.at(10, "")
	assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, gpuAt(t, b.read(), 0).Pipes, "it takes two reads")
	b.at(10.05, "")
	assert.Equal(t, [gpu.NumPipes]gpu.Opt[float64]{}, gpuAt(t, b.read(), 0).Pipes, "too close to the last one")
	b.at(20, "")
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

// XIDs are counted by kind and handed out as events, also of a GPU that is gone by the time they are seen.
func TestXIDs(t *testing.T) {
	b := start(t, "gpus = 2\ntime = manual")
	n := b.read()
	ident := gpuAt(t, n, 1)
	id, name, model := ident.ID, ident.Name, ident.Model
	assert.Empty(t, n.Events)

	const first = "[event a]\ngpu = 1\nxid = 48\n[event b]\ngpu = 1\nxid = 13\n[event c]\ngpu = 1\nxid = 48\n"
	b.at(10, first)
	require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 3 }, 5*time.Second, 5*time.Millisecond)
	n = b.read()
	require.Len(t, n.Events, 3)
	for _, e := range n.Events {
		assert.Equal(t, gpu.Event{
			Type: gpu.EventXID, Time: b.clock, DeviceID: id, Name: name, Model: model, Vendor: gpu.NVIDIA, XID: e.XID,
		}, e)
	}
	assert.Equal(t, map[int64]int64{13: 1, 48: 2}, xidTotals(t, gpuAt(t, n, 1)))
	assert.Empty(t, xidTotals(t, gpuAt(t, n, 0)))

	b.at(20, first+"[fault f]\ngpu = 1\nkind = lost\n[event d]\ngpu = 1\nxid = 79")
	require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 1 }, 5*time.Second, 5*time.Millisecond)
	n = b.read()
	failed(t, n, 1, gpu.FaultLost)
	require.Len(t, n.Events, 1, "each is handed out once")
	assert.Equal(t, id, n.Events[0].DeviceID)
	assert.Equal(t, int64(79), n.Events[0].XID)
	assert.Equal(t, map[int64]int64{13: 1, 48: 2, 79: 1}, xidTotals(t, gpuAt(t, n, 1)))
	assert.Empty(t, b.read().Events)
}

// That the driver once would not queue a GPU's XIDs is not for good.
func TestXIDsWatchedLater(t *testing.T) {
	for _, function := range []string{"nvmlDeviceGetSupportedEventTypes", "nvmlDeviceRegisterEvents"} {
		t.Run(function, func(t *testing.T) {
			b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = "+function+"\nreturn = UNKNOWN")
			n := b.read()
			healthy(t, n, 2)
			n = b.read()
			require.Len(t, n.Problems, 1)
			assert.Contains(t, n.Problems[0].What, "events")
			b.set("[fault f]\npresent = false")
			require.Eventually(t, func() bool { return len(b.read().Problems) == 0 }, 10*time.Second, time.Millisecond)
			b.set("[event a]\ngpu = 1\nxid = 48")
			require.Eventually(t, func() bool { b.fetchSamples(); return b.queued() == 1 }, 5*time.Second, 5*time.Millisecond)
			n = b.read()
			require.Len(t, n.Events, 1)
			assert.Equal(t, gpuAt(t, n, 1).ID, n.Events[0].DeviceID)
			assert.EqualValues(t, 48, n.Events[0].XID)
		})
	}
}

// Nor is that it once had no queue for them.
func TestXIDQueueCreatedLater(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\nfunction = nvmlEventSetCreate\nreturn = UNKNOWN")
	healthy(t, b.read(), 2)
	b.set("[fault f]\npresent = false\n[event a]\ngpu = 1\nxid = 48")
	require.Eventually(t, func() bool { return len(b.read().Events) == 1 }, 5*time.Second, 5*time.Millisecond)
}

func (b *bench) queued() int {
	b.xids.mu.Lock()
	defer b.xids.mu.Unlock()
	return len(b.xids.queue)
}

func xidTotals(t *testing.T, d *gpu.Device) map[int64]int64 {
	t.Helper()
	totals := map[int64]int64{}
	for _, e := range d.Errors {
		if e.Type != gpu.ErrorXID {
			continue
		}
		n, ok := e.Count.Get()
		require.True(t, ok)
		assert.Equal(t, manualEpoch, e.Count.Since(), "when counting began")
		totals[e.XID] = n
	}
	return totals
}

func TestHealth(t *testing.T) {
	tests := map[string]struct {
		set    string
		state  gpu.State
		faults []gpu.FaultType
		action gpu.Opt[gpu.RecoveryAction]
	}{
		"well":            {"", gpu.StateOK, nil, gpu.Some(gpu.RecoveryNone)},
		"remap pending":   {"remapped.pending = 1", gpu.StatePredictedFailure, []gpu.FaultType{gpu.FaultRemapPending}, gpu.Some(gpu.RecoveryNone)},
		"remap failed":    {"remapped.failure = 1", gpu.StatePredictedFailure, []gpu.FaultType{gpu.FaultRemapFailed}, gpu.Some(gpu.RecoveryNone)},
		"reset":           {"recovery_action = 1", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReset)},
		"reboot":          {"recovery_action = 2", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReboot)},
		"drain P2P":       {"recovery_action = 3", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryDrainP2P)},
		"drain and reset": {"recovery_action = 4", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryDrainAndReset)},
		"IMEX":            {"recovery_action = 5", gpu.StateDegraded, []gpu.FaultType{gpu.FaultDrain}, gpu.Some(gpu.RecoveryIMEXDomain)},
		"bus reset":       {"recovery_action = 6", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryBusReset)},
		"system reboot":   {"recovery_action = 7", gpu.StateFailed, []gpu.FaultType{gpu.FaultResetRequired}, gpu.Some(gpu.RecoveryReboot)},
		"not known yet":   {"recovery_action = 77", gpu.StateOK, nil, gpu.Opt[gpu.RecoveryAction]{}},
		"retirement": {
			"board = turing\nretired.pending = 1\nretired.sbe = 3\nretired.dbe = 2", gpu.StatePredictedFailure,
			[]gpu.FaultType{gpu.FaultRemapPending},
			gpu.Opt[gpu.RecoveryAction]{},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 1\n[gpu 0]\n"+tt.set)
			n := b.read()
			d := gpuAt(t, n, 0)
			assert.Equal(t, tt.state, d.State())
			var faults []gpu.FaultType
			for _, f := range d.Faults {
				faults = append(faults, f.Type)
				assert.NotEmpty(t, f.Message)
			}
			assert.Equal(t, tt.faults, faults)
			assert.Equal(t, tt.action, d.RecoveryAction)
			assert.True(t, d.Power.Draw.Known(), "it can be read all the same")
			assert.Equal(t, [2]int64{1, 0}, presence(n))
		})
	}
}

// As long as a GPU wants a reset, NVML is let go of between reads, and the others have all their data nevertheless.
func TestLetsGoForAReset(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b := start(t, "gpus = 2")
	counters.Reset()
	b.read()
	b.read()
	assert.Equal(t, [2]uint64{1, 0}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})

	b.set("[gpu 1]\nrecovery_action = 1")
	b.read()
	assert.Nil(t, b.driver.session)
	assert.Equal(t, uint64(1), counters.Calls("nvmlShutdown"))
	healthy(t, b.read(), 2, 1)
	assert.Equal(t, [2]uint64{2, 2}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})

	b.set("")
	healthy(t, b.read(), 2)
	b.read()
	assert.NotNil(t, b.driver.session, "kept open again")
	assert.Equal(t, [2]uint64{3, 2}, [2]uint64{counters.Calls("nvmlInit_v2"), counters.Calls("nvmlShutdown")})
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
