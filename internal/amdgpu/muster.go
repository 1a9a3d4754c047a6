// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// muster sets the boards to what the inventory shows and collects the tasks of the read.
func (s *Source) muster(now time.Time) {
	s.tasks = s.tasks[:0]
	s.boards = slices.DeleteFunc(s.boards, func(b *board) bool {
		// A GPU that was handed to another driver is no loss.
		if s.inv.card(b.address) == nil && (!b.seen || s.inv.foreign(b.address)) {
			s.epoch = max(s.epoch, b.epoch+1)
			b.task.retire()
			return true
		}
		return false
	})
	for i := range s.inv.cards {
		c := &s.inv.cards[i]
		b := s.board(c.address)
		// What hangs keeps what it was given.
		if b.task.state.Load() == idle {
			b.name, b.nodes, b.now = c.name, s.inv.of(c.address), now
			names := []string{c.name, c.render}
			if c.render == "" || c.render == c.name {
				names = names[:1]
			}
			if !slices.Equal(b.alias, names) {
				b.alias = slices.Clone(names)
			}
		}
		s.tasks = append(s.tasks, b.task)
	}
	if s.want.Has(gpu.GroupProcesses|gpu.GroupProcessUtilization) && len(s.inv.cards) > 0 {
		if s.procs.task.state.Load() == idle {
			s.procs.begin(s.inv, now)
		}
		if s.kfd.task.state.Load() == idle {
			s.kfd.begin(s.inv)
		}
		s.tasks = append(s.tasks, s.kfd.task, s.procs.task)
	}
}

// board returns the board at an address, a new one where there was none.
func (s *Source) board(address string) *board {
	i, found := slices.BinarySearchFunc(s.boards, address, func(b *board, a string) int { return cmp.Compare(b.address, a) })
	if !found {
		s.boards = slices.Insert(s.boards, i, newBoard(s, address))
	}
	return s.boards[i]
}

func (inv *inventory) card(address string) *card {
	i, found := slices.BinarySearchFunc(inv.cards, address, func(c card, a string) int { return cmp.Compare(c.address, a) })
	if !found {
		return nil
	}
	return &inv.cards[i]
}

// astray tells whether a GPU was not found where the scan had seen it: its driver was loaded anew meanwhile, or before and
// has numbered the cards otherwise.
func (s *Source) astray(round uint64) bool {
	return s.scanTask.state.Load() == idle && slices.ContainsFunc(s.boards, func(b *board) bool {
		return s.inv.card(b.address) != nil && b.task.ended(round) && b.out.gone
	})
}

// gone tells whether a task is that of a GPU which was not found.
func (s *Source) gone(t *task) bool {
	return slices.ContainsFunc(s.boards, func(b *board) bool { return b.task == t && b.out.gone })
}
