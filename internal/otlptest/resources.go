// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Resources checks that the resource of a node, a container and a process stays the same from message to message. A resource may get
// further attributes: a container's names may come later than its first point. A process may become another program (exec).
type Resources struct {
	known map[string]map[string]any
}

// ofProgram are the attributes that another program in the same process may change.
var ofProgram = []string{"process.command", "process.command_line", "process.executable.name", "process.owner", "process.user.id"}

// Add takes the next message and returns the violations.
func (r *Resources) Add(metrics pmetric.Metrics) []string {
	var result violations
	now := map[string]map[string]any{}
	for _, rm := range metrics.ResourceMetrics().All() {
		if endsSeries(rm) {
			continue
		}
		attributes := rm.Resource().Attributes().AsRaw()
		entity := entityOf(attributes)
		if other, ok := now[entity]; ok {
			result.add("%s has the resources %s and %s", entity, text(other), text(attributes))
		}
		now[entity] = attributes
		for name, before := range r.known[entity] {
			after, ok := attributes[name]
			program := r.known[entity]["process.executable.name"] != attributes["process.executable.name"] && slices.Contains(ofProgram, name)
			if (!ok || after != before) && !program {
				result.add("%s: %s of the resource was %v and is %v", entity, name, before, after)
			}
		}
	}
	r.known = now
	slices.Sort(result)
	return result
}

// entities are what a resource may represent, each with the attribute that shows it and the attributes that identify it.
var entities = []struct {
	shown       string
	identifying []string
}{
	{"process.pid", []string{"host.name", "k8s.node.name", "process.pid", "process.creation.time"}},
	{"slurm.job.id", []string{"host.name", "k8s.node.name", "container.id", "k8s.pod.uid", "slurm.job.id"}},
	{"slurm.job.sluid", []string{"host.name", "k8s.node.name", "container.id", "k8s.pod.uid", "slurm.job.sluid"}},
	{"batch.job.id", []string{"host.name", "k8s.node.name", "container.id", "k8s.pod.uid", "batch.system", "batch.job.id"}},
	{"container.id", []string{"container.id"}},
	{"k8s.container.name", []string{"k8s.cluster.name", "k8s.namespace.name", "k8s.pod.name", "k8s.container.name"}},
	{"container.name", []string{"host.name", "k8s.node.name", "container.name"}},
	{"systemd.unit.name", []string{"host.name", "k8s.node.name", "systemd.unit.name"}},
	{"k8s.node.name", []string{"k8s.cluster.name", "k8s.node.name"}},
	{"host.name", []string{"host.name"}},
}

// entityOf names what a resource represents.
func entityOf(resource map[string]any) string {
	for _, e := range entities {
		if resource[e.shown] == nil {
			continue
		}
		identity := map[string]any{}
		for _, name := range e.identifying {
			if value, ok := resource[name]; ok {
				identity[name] = value
			}
		}
		return text(identity)
	}
	return text(resource)
}
