// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"sync"

	"go.opentelemetry.io/collector/receiver"
)

// registry has the sources of each configuration. The Collector makes one receiver for each signal from the same
// configuration; together they read each GPU once.
type registry struct {
	open opener

	mu      sync.Mutex
	sources map[*Config]*sources
}

func newRegistry(open opener) *registry {
	return &registry{open: open, sources: make(map[*Config]*sources)}
}

func (r *registry) get(cfg *Config, set receiver.Settings) (*sources, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sources[cfg]; ok {
		s.users++
		return s, nil
	}
	s, err := newSources(cfg, set, r.open)
	if err != nil {
		return nil, err
	}
	s.forget = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sources, cfg)
	}
	s.users = 1
	r.sources[cfg] = s
	return s, nil
}
