// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"sync"

	"go.opentelemetry.io/collector/exporter"
)

// registry has the instance of each configuration. The Collector makes one exporter for each signal from the same configuration.
type registry struct {
	mu        sync.Mutex
	instances map[*Config]*instance
}

func newRegistry() *registry { return &registry{instances: make(map[*Config]*instance)} }

func (r *registry) get(cfg *Config, set exporter.Settings) (*instance, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i, ok := r.instances[cfg]
	if !ok {
		var err error
		if i, err = newInstance(cfg, set); err != nil {
			return nil, err
		}
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
