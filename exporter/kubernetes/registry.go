// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"sync"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pipeline"
)

// registry has the instance of each configuration. The Collector makes one exporter for each signal from the same configuration.
type registry struct {
	mu        sync.Mutex
	instances map[*Config]*instance
}

func newRegistry() *registry { return &registry{instances: make(map[*Config]*instance)} }

// get returns the instance of a configuration for the pipelines of one signal.
func (r *registry) get(cfg *Config, set exporter.Settings, signal pipeline.Signal) (*instance, error) {
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
	i.signals[signal] = true
	return i, nil
}
