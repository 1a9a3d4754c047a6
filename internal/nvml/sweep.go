// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"context"
	"time"
)

// result is what became of a slot in a read.
type result struct {
	slot *slot
	out  *reading
	ret  code
	hung bool
}

// sweep reads every GPU that is not still busy with an earlier read.
func (s *source) sweep(ctx context.Context, now time.Time) {
	s.results = s.results[:0]
	var ready []int // of the results
	for _, sl := range s.session.slots {
		r := result{slot: sl, hung: true}
		if sl.busy.CompareAndSwap(false, true) {
			ready = append(ready, len(s.results))
		}
		s.results = append(s.results, r)
	}
	n := len(ready)
	session := s.session
	if session.busy.CompareAndSwap(false, true) {
		n++
	}
	slots := make([]*slot, len(ready))
	for i, r := range ready {
		slots[i] = s.results[r].slot
	}
	begun, ended := s.crew.do(ctx, n, func(i int) {
		if i < len(slots) {
			slots[i].sweep(now)
		} else {
			session.look(now)
		}
	})
	for i, at := range ready {
		r := &s.results[at]
		switch {
		case i >= begun:
			r.slot.busy.Store(false)
		case ended[i].Load():
			r.hung = false
			r.out, r.ret = r.slot.out, r.slot.ret
		}
	}
	if begun < n && n > len(ready) {
		session.busy.Store(false)
	}
}

// gone tells whether the whole driver is gone: a GPU found it so, and none was read.
func (s *source) gone() code {
	gone := codeOK
	for i := range s.results {
		r := &s.results[i]
		if r.out != nil {
			return codeOK
		}
		if r.ret.answer() == driverGone {
			gone = r.ret
		}
	}
	return gone
}

// adopt returns the board of a UUID; nil where another slot of the session has it, for a board is read by one at a time.
func (s *source) adopt(uuid string, sl *slot) *board {
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	for _, b := range s.boards {
		if b.uuid != uuid {
			continue
		}
		if b.slot != nil && b.slot != sl && b.slot.session == sl.session {
			return nil
		}
		b.slot = sl
		return b
	}
	b := newBoard(s, sl.session.lib, uuid)
	b.slot = sl
	s.boards = append(s.boards, b)
	return b
}

// known returns the boards that are known by what they are.
func (s *source) known() []*board {
	s.boardsMu.Lock()
	defer s.boardsMu.Unlock()
	all := make([]*board, 0, len(s.boards))
	for _, b := range s.boards {
		if b.ident.Load() != nil {
			all = append(all, b)
		}
	}
	return all
}
