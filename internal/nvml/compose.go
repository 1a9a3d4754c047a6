// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// compose makes the node of what was read and of what is known, within the caller's deadline. It tells whether the driver has to be
// let go of, because a GPU needs a reset.
func (s *source) compose(caller context.Context, now time.Time) (letGo bool) {
	n := &s.node
	n.Vendor, n.Time = gpu.NVIDIA, now
	n.Devices, n.Processes, n.Problems = n.Devices[:0], n.Processes[:0], n.Problems[:0]
	n.Events = s.xids.take(n.Events[:0])
	n.RestartNeeded = nil
	n.Containers = n.Containers[:0]
	s.addFailure(n, now)
	n.Unread = s.unread()

	s.supersede()
	c := census{source: s, node: n, caller: caller}
	boards := s.known()
	s.renumber(boards)
	slices.SortStableFunc(boards, func(a, b *board) int {
		return cmp.Compare(order(a.ident.Load()), order(b.ident.Load()))
	})
	for _, b := range boards {
		if address := b.ident.Load().info.PCIAddress; s.bus.foreign(address) {
			b.anew.Store(true) // it is reset on its way
			continue
		}
		letGo = c.board(b) || letGo
	}
	letGo = c.strangers() || letGo
	c.presence()
	return letGo
}

// renumber gives GPUs the index that NVML gives them, where that has changed and every GPU that is known was read. As long as
// one is missing, the others keep theirs, so that it stays free for the one.
func (s *source) renumber(boards []*board) {
	read := 0
	for i := range s.results {
		if s.results[i].out != nil {
			read++
		}
	}
	if read < len(s.results) || read < len(boards) {
		return
	}
	for i := range s.results {
		r := &s.results[i]
		b := r.slot.board.Load()
		if ident := b.ident.Load(); order(ident) != r.slot.index {
			renumbered := *ident
			renumbered.index = gpu.Some(r.slot.index)
			b.ident.Store(&renumbered)
			r.out.devices[0].Index = renumbered.index
		}
	}
}

func order(i *identity) int {
	n, _ := i.index.Get()
	return n
}

// fileLooked is how long what was seen of the library's file holds, as long as the library can be used.
const fileLooked = time.Minute

// replaced tells whether the library that is loaded is not any more the one that is installed.
func (s *source) replaced(now time.Time) bool {
	if s.lib == nil {
		return false
	}
	if age := now.Sub(s.file.seen); s.failure.err != nil || age < 0 || age >= fileLooked {
		s.file.seen, s.file.replaced = now, s.lib.replaced()
	}
	return s.file.replaced
}

// unread tells whether calls have not returned, and none that has brought a GPU's readings.
func (s *source) unread() bool {
	hung := s.pending != nil
	for i := range s.results {
		r := &s.results[i]
		if r.out != nil {
			return false
		}
		hung = hung || r.hung
	}
	return hung
}

// addFailure says why NVML cannot be used, where it cannot.
func (s *source) addFailure(n *gpu.Node, now time.Time) {
	if s.replaced(now) {
		n.Problems = append(n.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "library", Err: fmt.Errorf("nvml: %s was replaced or removed since it was "+
			"loaded; the old one is used as long as the kernel's driver takes it; restart the collector when it does not", s.lib.file)})
	}
	if op := s.pending; op != nil {
		n.Problems = append(n.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: "driver", Err: fmt.Errorf(
			"nvml: %s has not returned since %s; look into the kernel's log (dmesg)", op.what, op.began.Format(time.RFC3339),
		)})
		return
	}
	if s.session != nil && s.session.busy.Load() {
		n.Problems = append(n.Problems, gpu.Problem{What: "events", Err: errLookHung})
	}
	if s.failure.err == nil {
		return
	}
	n.Problems = append(n.Problems, gpu.Problem{Kind: gpu.ProblemSource, What: s.failure.what, Err: s.failure.err})
	if s.failure.ret == codeVersionMismatch {
		n.RestartNeeded = s.failure.err
	}
}
