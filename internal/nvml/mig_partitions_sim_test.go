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

// layout is what a node says of the partitioned GPU: its devices, and on which of them its processes are.
type layout struct {
	devices   []string
	processes map[int64]string
}

func layoutOf(n *gpu.Node) layout {
	l := layout{devices: ids(n), processes: map[int64]string{}}
	for _, p := range n.Processes {
		l.processes[p.PID] = p.DeviceID
	}
	return l
}

// without is the layout as it is when nothing is read of an instance.
func (l layout) without(device string) layout {
	result := layout{devices: l.devices, processes: map[int64]string{}}
	for pid, id := range l.processes {
		if id != device {
			result.processes[pid] = id
		}
	}
	return result
}

// steady is a source that has read the partitioned GPU twice.
func steady(t *testing.T) (*bench, layout) {
	t.Helper()
	b := start(t, partitioned)
	b.read()
	b.schedule(10, "")
	n := b.read()
	require.Empty(t, n.Problems)
	require.True(t, piped(t, n, 0))
	return b, layoutOf(n)
}

// piped reports whether an instance has pipes.
func piped(t *testing.T, n *gpu.Node, index int) bool {
	t.Helper()
	return child(t, n, gpuAt(t, n, 0).ID, index).Pipes[gpu.PipeGraphics].Known()
}

// The MIG mode cannot be read: it stays as it was, and the instances are followed.
func TestMIGModeUnreadable(t *testing.T) {
	for _, ret := range []string{"UNKNOWN", "TIMEOUT", "NO_PERMISSION"} {
		t.Run(ret, func(t *testing.T) {
			b, before := steady(t)
			fault := "[fault f]\ngpu = 0\nmig = none\nfunction = nvmlDeviceGetMigMode\nreturn = " + ret
			var err error
			for i := range 4 {
				b.schedule(float64(20+10*i), fault)
				n := b.read()
				assert.Equal(t, before, layoutOf(n))
				assert.True(t, piped(t, n, 0))
				assert.False(t, gpuAt(t, n, 0).Utilization[gpu.TaskGeneral].Known(), "the driver has no utilization of a GPU with MIG on")
				require.Len(t, n.Problems, 1)
				p := problem(t, n, "MIG mode")
				require.ErrorContains(t, p.Err, before.devices[0]+": read MIG mode (nvmlDeviceGetMigMode): ")
				if i == 0 {
					err = p.Err
				}
				assert.Same(t, err, p.Err, "it stands")
			}
			b.schedule(60, fault+"\n[mig 0 3]\npresent = false")
			n := b.read()
			assert.Len(t, ids(n), 4, "an instance that was destroyed is no more")
			assert.Same(t, err, problem(t, n, "MIG mode").Err, "it still stands")
			assert.True(t, piped(t, n, 0))
		})
	}
	t.Run("once", func(t *testing.T) {
		b, before := steady(t)
		b.schedule(20, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetMigMode\nreturn = UNKNOWN")
		assert.Equal(t, before, layoutOf(b.read()))
		for i := range 3 {
			b.schedule(float64(30+10*i), "")
			n := b.read()
			assert.Equal(t, before, layoutOf(n))
			assert.True(t, piped(t, n, 0))
		}
		assert.Empty(t, b.read().Problems)
	})
	for name, fault := range map[string]string{
		"at the first read": "UNKNOWN\ncalls = 1", "from the first read on": "UNKNOWN", "never permitted": "NO_PERMISSION",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, partitioned+"[fault f]\ngpu = 0\nmig = none\nfunction = nvmlDeviceGetMigMode\nreturn = "+fault)
			var layouts []layout
			for i := range 6 {
				layouts = append(layouts, layoutOf(b.read()))
				b.schedule(float64(10*i), "")
			}
			assert.Equal(t, name == "at the first read", len(b.read().Problems) == 0)
			b.schedule(70, "[fault f]\npresent = false")
			want := layoutOf(b.read())
			require.Len(t, want.devices, 5)
			for i, got := range layouts {
				assert.Equal(t, want, got, "at read %d: the instances show that it is on", i)
			}
		})
	}
	t.Run("not supported any more", func(t *testing.T) {
		b, _ := steady(t)
		b.schedule(20, "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetMigMode\nreturn = NOT_SUPPORTED")
		n := b.read()
		assert.Len(t, ids(n), 2)
		assert.Empty(t, n.Problems)
	})
}

// An instance that cannot be had stays known, without values. The other instances are complete, and so is this one as soon as it can be
// had.
func TestInstanceUnreadable(t *testing.T) {
	for name, tt := range map[string]struct{ fault, problem string }{
		"handle": {
			"[fault f]\ngpu = 0\nmig = none\nfunction = nvmlDeviceGetMigDeviceHandleByIndex\nreturn = UNKNOWN\ncalls = 1",
			"(nvmlDeviceGetMigDeviceHandleByIndex, index 0): unknown error",
		},
		"UUID": {
			"[fault f]\ngpu = 0\nmig = 0\nfunction = nvmlDeviceGetUUID\nreturn = UNKNOWN",
			"(nvmlDeviceGetUUID, index 0): unknown error",
		},
		"not ready": {"[fault f]\ngpu = 0\nmig = 0\nfunction = nvmlDeviceGetUUID\nreturn = 27", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b, before := steady(t)
			b.schedule(20, tt.fault)
			n := b.read()
			bad := child(t, n, before.devices[0], 0)
			assert.Equal(t, before.without(bad.ID), layoutOf(n))
			assert.Equal(t, gpu.Device{
				ID: bad.ID, Name: "nvidia0/gi2/ci0", Model: bad.Model, Parent: before.devices[0], Vendor: gpu.NVIDIA, Epoch: bad.Epoch,
				Index: gpu.Some(0), GPUInstance: gpu.Some(2), ComputeInstance: gpu.Some(0), Info: bad.Info,
				ProcessesUnread: true, Unread: true,
				Faults: bad.Faults[:0], Fans: bad.Fans[:0], Errors: bad.Errors[:0],
				Interconnect: gpu.Interconnect{Links: bad.Interconnect.Links[:0]},
			}, *bad, "it is there, and nothing is known of it")
			for _, index := range []int{1, 3} {
				d := child(t, n, before.devices[0], index)
				assert.True(t, d.Memory.Usage.Known())
				assert.False(t, d.ProcessesUnread)
			}
			approx(t, 330, gpuAt(t, n, 0).Power.Draw, "the GPU's power")
			if tt.problem != "" {
				require.Len(t, n.Problems, 1)
				p := problem(t, n, "MIG instances")
				assert.Equal(t, before.devices[0], p.Device)
				require.ErrorContains(t, p.Err, "nvml: "+p.Device+": read MIG instances "+tt.problem)
			} else {
				assert.Empty(t, n.Problems)
			}

			b.schedule(30, "")
			n = b.read()
			assert.Equal(t, before, layoutOf(n))
			assert.Empty(t, n.Problems)
			assert.True(t, piped(t, n, 0), "over two intervals")
			assert.False(t, child(t, n, before.devices[0], 0).ProcessesUnread)
		})
	}
}

// An index that keeps failing is queried less and less often, and its problem persists. The instances behind it come and go.
func TestInstanceUnreadableForLong(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	b, before := steady(t)
	bad := child(t, b.read(), before.devices[0], 0).ID
	const fault = "[fault f]\ngpu = 0\nmig = 0\nfunction = nvmlDeviceGetUUID\nreturn = NO_PERMISSION\n"
	counters.Reset()
	var first error
	for i := range 70 {
		b.schedule(float64(20+10*i), fault)
		n := b.read()
		assert.Equal(t, before.without(bad), layoutOf(n))
		require.Len(t, n.Problems, 1)
		if first == nil {
			first = n.Problems[0].Err
		}
		require.Same(t, first, n.Problems[0].Err)
	}
	assert.LessOrEqual(t, counters.TotalErrors(), uint64(8))

	b.schedule(800, fault+"[mig 0 3]\npresent = false")
	n := b.read()
	assert.Len(t, ids(n), 4, "destroyed")
	assert.Equal(t, bad, child(t, n, before.devices[0], 0).ID)
	assert.Same(t, first, problem(t, n, "MIG instances").Err)
	b.schedule(810, fault+"[mig 0 4]\nprofile = 1g.10gb\ngi = 9\nci = 0")
	n = b.read()
	assert.Len(t, ids(n), 6, "created, and there again")
	assert.Equal(t, "1g.10gb", child(t, n, before.devices[0], 4).Info.Profile)
	assert.Same(t, first, problem(t, n, "MIG instances").Err)

	b.set("now = 820")
	require.Eventually(t, func() bool { return len(b.read().Problems) == 0 }, time.Minute, time.Millisecond)
	assert.Equal(t, before, layoutOf(b.read()))

	b.schedule(830, fault)
	b.read()
	b.schedule(840, fault+"[gpu 0]\nmig = 0")
	n = b.read()
	assert.Len(t, ids(n), 2, "MIG was switched off")
	assert.Empty(t, n.Problems)
}

// No index answers: all instances stay as they are known.
func TestNoInstanceReadable(t *testing.T) {
	b, before := steady(t)
	for i := range 5 {
		b.schedule(float64(20+10*i), "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetMigDeviceHandleByIndex\nreturn = TIMEOUT")
		n := b.read()
		assert.Equal(t, before.devices, ids(n))
		require.Len(t, n.Processes, 1, "on the other GPU")
		assert.Equal(t, gpuAt(t, n, 1).ID, n.Processes[0].DeviceID)
		require.Len(t, n.Problems, 1)
		require.ErrorContains(t, problem(t, n, "MIG instances").Err, "index 0")
	}
	b.schedule(70, "[fault f]\ngpu = 0\nkind = lost")
	n := b.read()
	assert.Equal(t, before.devices, ids(n))
	failed(t, n, 0, gpu.FaultLost)
}

// After a change the number of indexes is queried again. While it cannot be read, the known ones are used.
func TestInstanceLimitUnreadable(t *testing.T) {
	b, before := steady(t)
	const fault = "[fault f]\ngpu = 0\nfunction = nvmlDeviceGetMaxMigDeviceCount\nreturn = UNKNOWN\n[mig 0 1]\npresent = false"
	want := before
	for i := range 4 {
		b.schedule(float64(20+10*i), fault)
		n := b.read()
		if i == 0 {
			want.devices = append(want.devices[:2:2], want.devices[3:]...)
			assert.Empty(t, n.Problems)
		} else {
			problem(t, n, "number of MIG instances")
		}
		assert.Equal(t, want, layoutOf(n), "read %d", i)
	}
}

// A problem of an instance ends when its cause is not called any more: with another instance beside it in its GPU instance, what is
// measured is not its own.
func TestInstanceNotAloneAnyMore(t *testing.T) {
	b := start(t, partitioned+"[mig 0 3]\npresent = false")
	b.read()
	b.schedule(10, "[fault f]\ngpu = 0\nmig = 1\nfunction = nvmlGpmSampleGet\nreturn = UNKNOWN")
	problem(t, b.read(), "GPM")
	b.schedule(20, "[mig 0 3]\npresent = true")
	assert.Empty(t, b.read().Problems)
	b.schedule(300, "")
	assert.False(t, piped(t, b.read(), 1), "there is nothing to compare with from when it was alone the last time")
}
