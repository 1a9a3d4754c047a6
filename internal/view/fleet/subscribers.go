// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "sync"

// subscribers are the channels notified of changes.
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

// notify sends a generation. A slow subscriber receives only the latest generation.
func (s *subscribers) notify(generation uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.all {
		select {
		case <-c:
		default:
		}
		c <- generation // this is the only sender, so there is room
	}
}
