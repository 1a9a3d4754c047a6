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

// What a GPU can do with each other one is known from the second read on. A status that is not known is absent.
func TestPeers(t *testing.T) {
	b := start(t, "gpus = 3\ntime = manual\n[gpu 0]\np2p.write = 4\np2p.nvlink = 5\np2p.atomics = 6\np2p.pci = unsupported", gpu.GroupPeers)
	assert.Empty(t, gpuAt(t, b.read(), 0).Peers)
	b.schedule(10, "")
	n := b.read()
	assert.Empty(t, n.Problems)
	want := [gpu.NumPeerCapabilities]gpu.Opt[bool]{gpu.PeerRead: gpu.Some(true), gpu.PeerWrite: gpu.Some(false), gpu.PeerNVLink: gpu.Some(false)}
	assert.Equal(t, []gpu.Peer{{ID: gpuAt(t, n, 1).ID, Capabilities: want}, {ID: gpuAt(t, n, 2).ID, Capabilities: want}}, gpuAt(t, n, 0).Peers)
	require.Len(t, gpuAt(t, n, 2).Peers, 2)
	for _, can := range gpuAt(t, n, 2).Peers[0].Capabilities {
		assert.Equal(t, gpu.Some(true), can)
	}
}

// A GPU that is lost or hangs is not a peer, and does not keep the others from being read. While one is lost NVML is opened at each read,
// and then there are no peers.
func TestPeersThatDoNotAnswer(t *testing.T) {
	for name, tt := range map[string]struct {
		fault string
		hangs bool
		peers int
	}{
		"lost":  {"[fault f]\ngpu = 1\nkind = lost", false, 0},
		"hangs": {"[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPerformanceState\nhang = true", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 3\ntime = manual", gpu.GroupAll)
			b.read()
			b.schedule(10, "")
			b.read()
			b.schedule(20, tt.fault)
			if tt.hangs {
				b.readUntilHung(1)
			}
			b.read()
			b.schedule(30, tt.fault)
			n := b.read()
			for _, i := range []int{0, 2} {
				assert.Len(t, gpuAt(t, n, i).Peers, tt.peers)
				assert.Equal(t, gpu.StateOK, gpuAt(t, n, i).State())
			}
			assert.Empty(t, gpuAt(t, n, 1).Peers)
		})
	}
}

// Peers need a session that stays open, and cost a call for each capability of each.
func TestPeersCost(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	for name, keepOpen := range map[string]bool{"open": true, "closed": false} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 4\ntime = manual", gpu.GroupPeers, func(c *Config) { c.KeepOpen = keepOpen })
			b.read()
			b.schedule(10, "")
			counters.Reset()
			b.read()
			want := uint64(0)
			if keepOpen {
				want = 4 * 3 * uint64(gpu.NumPeerCapabilities)
			}
			assert.Equal(t, want, counters.Calls("nvmlDeviceGetP2PStatus"))
		})
	}
}
