// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "sync"

// subscribers are who wants to know of changes.
type subscribers struct {
	mu  sync.Mutex
	all map[chan uint64]struct{}
}

func (s *subscribers) add() (<-chan uint64, func()) {
	c := make(chan uint64, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[chan uint64]struct{}{}
	}
	s.all[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, c)
	}
}

// tell sends a generation. Who has not yet taken the last one gets this one instead.
func (s *subscribers) tell(generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		select {
		case <-c:
		default:
		}
		c <- generation // nobody else sends, so there is room
	}
}
