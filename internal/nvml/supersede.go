// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"slices"
	"time"
)

// uuidHolds is how long it is taken for granted that a handle is of the GPU that it was of. One that did not answer is asked
// at once.
const uuidHolds = time.Minute

// check asks, where it is time to, which GPU the handle is of, and lets go of the board that it is not of any more: whoever
// lends the GPU may lend another one. It tells why the GPU cannot be read, where it did not answer before and does not now.
func (s *slot) check(b *board, at time.Time) code {
	if age := at.Sub(s.asked); !s.suspect && age >= 0 && age < uuidHolds {
		return codeOK
	}
	s.asked = at
	uuid, ret := uuidOf(b.handle)
	switch {
	case code(ret) == codeOK && uuid != "" && uuid != b.uuid:
		s.board.Store(nil)
		s.suspect = false
		s.src.abandon(b)
	case code(ret) != codeOK && s.suspect:
		return code(ret)
	}
	return codeOK
}

// abandon takes a board from the slot that has it, so that another may find it. The instances that were found by its handle may be
// the other GPU's.
func (s *source) abandon(b *board) {
	b.release()
	b.dropInstances(nil)
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	b.slot = nil
}

// supersede forgets the GPUs in whose place another one was read: such as were exchanged while the machine runs, or got
// another UUID from whoever lends them; and those of which it is not known what they are. All others that are not read stay: they
// are missing.
func (s *source) supersede() {
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	s.boards = slices.DeleteFunc(s.boards, func(b *board) bool {
		if !s.superseded(b) {
			return false
		}
		s.xids.forget(b)
		b.batch.free()
		return true
	})
}

// superseded tells whether another GPU was read at the address of one that nothing uses, or nobody knows what it is.
func (s *source) superseded(b *board) bool {
	ident := b.ident.Load()
	if ident != nil && ident.info.PCIAddress == "" {
		return false
	}
	another := ident == nil
	for i := range s.results {
		r := &s.results[i]
		have := r.slot.board.Load()
		if have == b || r.hung && r.slot == b.slot {
			return false // it is there, or a call on it may not have returned
		}
		another = another || r.out != nil && have.ident.Load().info.PCIAddress == ident.info.PCIAddress
	}
	return another
}
