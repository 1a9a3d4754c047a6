// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package device

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml/library"
)

// Peers are the handles of the GPUs that answered their last read. A GPU queries what it can do with these and no others: a call that
// concerns a GPU that hangs would hang too. A GPU that starts to hang can delay one such call.
type Peers struct {
	mu  sync.Mutex
	all []peer // in the order of their IDs
}

type peer struct {
	id     string
	handle library.BoundDevice
	since  time.Time // when it was first read
}

func byID(p peer, id string) int { return cmp.Compare(p.id, id) }

func (p *Peers) add(id string, handle library.BoundDevice, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.all, id, byID)
	if found {
		p.all[i].handle = handle
	} else {
		p.all = slices.Insert(p.all, i, peer{id, handle, now})
	}
}

// Drop removes a GPU that does not answer.
func (p *Peers) Drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i, found := slices.BinarySearchFunc(p.all, id, byID); found {
		p.all = slices.Delete(p.all, i, i+1)
	}
}

// others returns those that were read before a read: the GPUs are read side by side, and in what order is not known.
func (p *Peers) others(id string, now time.Time) []peer {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(p.all), func(other peer) bool { return other.id == id || !other.since.Before(now) })
}

// peerCapabilities are the indices of nvmlGpuP2PCapsIndex_t.
var peerCapabilities = [gpu.NumPeerCapabilities]struct {
	function *library.Function
	index    library.PeerCapability
}{
	gpu.PeerRead:    {newPeerStatus(), library.PeerRead},
	gpu.PeerWrite:   {newPeerStatus(), library.PeerWrite},
	gpu.PeerNVLink:  {newPeerStatus(), library.PeerNVLink},
	gpu.PeerAtomics: {newPeerStatus(), library.PeerAtomics},
	gpu.PeerPCI:     {newPeerStatus(), library.PeerPCI},
}

func newPeerStatus() *library.Function { return library.NewFunction("peers", "nvmlDeviceGetP2PStatus") }

// readPeers reads what the GPU can do with each other one. One that was lost meanwhile is not a peer, and not a reason to end the read.
func (g *GPU) readPeers(d *gpu.Device) {
	for _, other := range g.cfg.Peers.others(g.uuid, g.readTime) {
		p := gpu.Peer{ID: other.id}
		for capability := range peerCapabilities {
			c := &peerCapabilities[capability]
			if !g.Can(c.function) {
				continue
			}
			status, ret := g.handle.GetP2PStatus(other.handle, c.index)
			if code := library.Code(ret); code.Answer() == library.DeviceGone {
				break
			} else if g.OK(c.function, code) {
				p.Capabilities[capability] = known(status == library.PeerOK, status < library.PeerUnknown)
			}
		}
		if p.Capabilities != [gpu.NumPeerCapabilities]gpu.Opt[bool]{} {
			d.Peers = append(d.Peers, p)
		}
	}
}

// becomePeer has the other GPUs ask what they can do with this one, as long as it answers.
func (g *GPU) becomePeer() {
	if g.Fatal == library.OK {
		g.cfg.Peers.add(g.uuid, g.handle.BoundDevice, g.readTime)
	} else {
		g.cfg.Peers.Drop(g.uuid)
	}
}
