// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources"
)

// maxIgnored is how many resources and drivers are logged.
const maxIgnored = 100

// ignoredAllocations logs the resources and DRA drivers whose devices do not count as GPUs, each once.
type ignoredAllocations struct {
	logger *zap.Logger
	logged map[string]bool // resources and drivers
	read   map[string]*ignoredResource
}

// ignoredResource is what a read had of a resource or driver.
type ignoredResource struct {
	count int
	first string
}

func newIgnoredAllocations(logger *zap.Logger) *ignoredAllocations {
	return &ignoredAllocations{logger: logger, logged: make(map[string]bool), read: make(map[string]*ignoredResource)}
}

func (l *ignoredAllocations) add(allocation *podresources.Allocation) {
	name := allocation.Resource
	if allocation.Dynamic != nil {
		name = allocation.Dynamic.Driver
	}
	resource := l.read[name]
	if resource == nil {
		resource = &ignoredResource{first: describeAllocation(allocation)}
		l.read[name] = resource
	}
	resource.count++
}

// log logs what a read had that no earlier one had, and forgets the read.
func (l *ignoredAllocations) log() {
	for _, name := range slices.Sorted(maps.Keys(l.read)) {
		if l.logged[name] || len(l.logged) == maxIgnored {
			continue
		}
		l.logged[name] = true
		l.logger.Info("Allocations that do not count as GPUs: "+name, zap.String("k8s.resource.name", name),
			zap.Int("allocations", l.read[name].count), zap.String("first_allocation", l.read[name].first),
			zap.String("reason", "neither the name nor sysfs shows a GPU"),
			zap.String("remedy", "if they are GPUs, add the name to attribution::pod_resources::gpu_resources"))
	}
	clear(l.read)
}
