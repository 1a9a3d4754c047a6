// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"slices"
	"sync"

	"go.opentelemetry.io/collector/receiver"
	"go.uber.org/zap"
)

// registry has the sources of each configuration. The Collector makes one receiver for each signal from the same
// configuration; together they read each GPU once.
type registry struct {
	open  opener
	waits waits

	mu      sync.Mutex
	sources map[*Config]*sources
}

func newRegistry(open opener) *registry {
	return &registry{open: open, waits: defaultWaits(), sources: make(map[*Config]*sources)}
}

func (r *registry) get(cfg *Config, set receiver.Settings) (*sources, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.sources[cfg]; ok {
		s.users++
		return s, nil
	}
	s, err := newSources(cfg, set, r.open, r.waits)
	if err != nil {
		return nil, err
	}
	r.warn(cfg, set)
	s.forget = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.sources, cfg)
	}
	s.users = 1
	r.sources[cfg] = s
	return s, nil
}

// warn logs what is allowed in a configuration but most likely not meant: by itself, and beside the receivers that there are.
func (r *registry) warn(cfg *Config, set receiver.Settings) {
	for _, warning := range cfg.warnings() {
		set.Logger.Warn(warning)
	}
	own := cfg.gpuSets()
	for other, s := range r.sources {
		for _, gpus := range other.gpuSets() {
			if slices.Contains(own, gpus) {
				set.Logger.Warn("Two receivers read the same GPUs", zap.String("what", gpus),
					zap.String("receiver", set.ID.String()), zap.String("other_receiver", s.receiver),
					zap.String("effect", "a backend counts these GPUs twice"), zap.String("remedy", "remove the scraper from one of the receivers"))
			}
		}
	}
}
