// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"fmt"
	"sync"

	"go.opentelemetry.io/collector/exporter"
)

// registry has the instance of each configuration. The Collector makes one exporter for each signal from the same configuration;
// together they are one view.
type registry struct {
	open opener

	mu        sync.Mutex
	instances map[*Config]*instance
}

func newRegistry(open opener) *registry {
	return &registry{open: open, instances: make(map[*Config]*instance)}
}

func (r *registry) get(cfg *Config, set exporter.Settings) (*instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.instances[cfg]
	if !ok {
		for other := range r.instances {
			if cfg.sameEndpoint(other) {
				return nil, fmt.Errorf("endpoint: another gpu_view listens on %s, too; give each of them an endpoint of its own", cfg.Server.NetAddr.Endpoint)
			}
		}
		i = newInstance(cfg, set, r.open)
		i.forget = func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.instances, cfg)
		}
		r.instances[cfg] = i
	}
	i.users++
	return i, nil
}
