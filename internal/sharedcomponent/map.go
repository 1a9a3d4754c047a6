// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package sharedcomponent has the components of one configuration share an instance. The Collector makes one component for each signal.
package sharedcomponent

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
)

// Map has the instance of each configuration. The zero Map is empty.
type Map[C comparable, I interface{ Shutdown(context.Context) error }] struct {
	mu        sync.Mutex
	instances map[C]I
	users     map[C]int // components that are not shut down
}

// Get returns the instance of a configuration for one more component, and the component's shutdown: the last one of a configuration removes
// the instance and shuts it down. Without an instance, create creates it beside the instances of other configurations.
func (m *Map[C, I]) Get(cfg C, create func(others map[C]I) (I, error)) (I, component.ShutdownFunc, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	instance, ok := m.instances[cfg]
	if !ok {
		var err error
		if instance, err = create(m.instances); err != nil {
			return instance, nil, err
		}
		if m.instances == nil {
			m.instances, m.users = map[C]I{}, map[C]int{}
		}
		m.instances[cfg] = instance
	}
	m.users[cfg]++
	return instance, func(ctx context.Context) error {
		if !m.removeUser(cfg) {
			return nil
		}
		return instance.Shutdown(ctx)
	}, nil
}

// removeUser reports whether it was the last one.
func (m *Map[C, I]) removeUser(cfg C) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.users[cfg]--
	if m.users[cfg] > 0 {
		return false
	}
	delete(m.instances, cfg)
	delete(m.users, cfg)
	return true
}
