// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// raise has the driver raise XIDs between two reads beside what there is, and returns the codes and devices that the next read has of them.
func (b *bench) raise(beside, xids string, want int) map[int64]string {
	b.t.Helper()
	b.set(beside + xids)
	b.await(func() bool { b.fetchSamples(); return b.queued() >= want })
	b.set(beside) // the simulator raises them again when it is initialised
	got := map[int64]string{}
	for _, e := range b.read().Events {
		got[e.XID] = e.DeviceID
	}
	return got
}

// While a GPU needs a reset it is not held between reads. The XIDs of the others are seen, and it is said that its own are not.
func TestXIDsBesideAGPUThatNeedsAReset(t *testing.T) {
	for name, fault := range map[string]string{
		"recovery action": "[gpu 1]\nrecovery_action = 1\n",
		"reset required":  "[fault f]\ngpu = 1\nkind = reset\n",
		"lost":            "[fault f]\ngpu = 1\nkind = lost\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 3")
			n := b.read()
			first, sick, last := gpuAt(t, n, 0).ID, gpuAt(t, n, 1).ID, gpuAt(t, n, 2).ID
			b.set(fault)
			n = b.read()
			require.Equal(t, gpu.StateFailed, gpuAt(t, n, 1).State())
			var unwatched []string
			for _, p := range n.Problems {
				if p.What == "events" {
					unwatched = append(unwatched, p.Device)
					require.ErrorIs(t, p.Err, errReleased)
				}
			}
			if name == "recovery action" { // the others are not read at all
				assert.Equal(t, []string{sick}, unwatched)
			}

			assert.Equal(t, map[int64]string{48: first, 63: last}, b.raise(fault, "[event a]\ngpu = 0\nxid = 48\n[event b]\ngpu = 2\nxid = 63\n", 2))
			assert.Equal(t, map[int64]string{13: last}, b.raise(fault, "[event c]\ngpu = 2\nxid = 13\n", 1), "after a further read, too")
			assert.Nil(t, b.driver.session.handles[1].gpu.Load(), "it is not held")

			b.set("[fault f]\npresent = false\n[gpu 1]\nrecovery_action = 0\n")
			healthy(t, b.read(), 3)
			assert.Empty(t, b.read().Problems)
			assert.Equal(t, map[int64]string{31: sick}, b.raise("", "[event d]\ngpu = 1\nxid = 31\n", 1))
		})
	}
}

// A GPU that is to be drained is held as long as it works. When no process is left on it, it can be reset.
func TestDrainedGPU(t *testing.T) {
	b := start(t, "gpus = 2")
	sick := gpuAt(t, b.read(), 1).ID
	drain := "[gpu 1]\nrecovery_action = 4\n"
	b.set(drain + "[process p]\npid = 1\ngpu = 1\nmemory = 1048576\n")
	require.Empty(t, b.read().Problems)
	require.NotNil(t, b.driver.session.handles[1].gpu.Load())
	b.set(drain + "[process p]\npresent = false\n")
	n := b.read()
	require.Len(t, n.Problems, 1)
	assert.Equal(t, sick, problem(t, n, "events").Device)
	assert.Nil(t, b.driver.session.handles[1].gpu.Load())
	assert.NotNil(t, b.driver.session.handles[0].gpu.Load())
}

// If NVML cannot be opened again, the XIDs of all are missing, and it is said for as long as that lasts.
func TestNotReopenedBesideAGPUThatNeedsAReset(t *testing.T) {
	for _, function := range []string{"nvmlDeviceRegisterEvents", "nvmlEventSetCreate"} {
		t.Run(function, func(t *testing.T) {
			b := start(t, "gpus = 2")
			n := b.read()
			fault := "[fault f]\nfunction = " + function + "\nreturn = UNKNOWN\n"
			b.set("[gpu 1]\nrecovery_action = 1\n" + fault)
			first, sick := gpuAt(t, n, 0).ID, gpuAt(t, n, 1).ID
			for range 2 {
				devices := map[string]bool{}
				for _, p := range b.read().Problems {
					if p.What == "events" {
						devices[p.Device] = true
					}
				}
				assert.Equal(t, map[string]bool{first: true, sick: true}, devices)
			}
			b.set("[gpu 1]\nrecovery_action = 1\n[fault f]\npresent = false")
			b.await(func() bool { return len(b.read().Problems) == 1 })
			b.set("")
			assert.Empty(t, b.read().Problems)
		})
	}
}
