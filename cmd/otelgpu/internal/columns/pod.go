// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package columns

import (
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Pod is a pod, a job, a unit or a container, with what it holds and uses on all GPUs, as a row.
type Pod struct {
	Cluster, Workload     *string
	Name                  string
	Node                  string
	GPUs                  []string   // names of those that it holds or uses
	Held                  *int       // devices that are allocated to it
	Memory, Power, Energy *float64   // sums
	Utilization           *float64   // mean over its GPUs
	IdleSince             *time.Time // of the GPU that has been idle longest

	utilizations []float64
}

// PodsOf gathers who holds or uses GPUs, in the order in which they come first.
func PodsOf(gpus []GPU) []*Pod {
	p := pods{byName: map[string]*Pod{}}
	for _, g := range gpus {
		p.add(g)
	}
	for _, pod := range p.all {
		if n := len(pod.utilizations); n > 0 {
			mean := 0.0
			for _, u := range pod.utilizations {
				mean += u / float64(n)
			}
			pod.Utilization = &mean
		}
	}
	return p.all
}

// pods are the pods that were found, by cluster, node and name.
type pods struct {
	byName map[string]*Pod
	all    []*Pod
}

// add adds the holders and users of one GPU. A process counts if its container is unknown.
func (p *pods) add(g GPU) {
	known := map[*Pod]bool{}
	for _, c := range g.Containers {
		if c == nil {
			continue
		}
		pod := p.find(g, &c.User)
		if pod == nil {
			continue
		}
		known[pod] = true
		pod.addGPU(g)
		if c.Allocated != nil && *c.Allocated {
			pod.Held = new(1 + orZero(pod.Held))
		}
		pod.Memory, pod.Power, pod.Energy = sum(pod.Memory, c.Memory), sum(pod.Power, c.Power), sum(pod.Energy, c.Energy)
		if c.IdleSince != nil && (pod.IdleSince == nil || c.IdleSince.Before(*pod.IdleSince)) {
			pod.IdleSince = c.IdleSince
		}
		if c.Utilization != nil {
			pod.utilizations = append(pod.utilizations, *c.Utilization)
		}
	}
	for _, process := range g.Processes {
		if process == nil {
			continue
		}
		pod := p.find(g, &process.User)
		if pod == nil || known[pod] {
			continue
		}
		pod.addGPU(g)
		pod.Memory = sum(pod.Memory, process.Memory)
		if process.Utilization != nil {
			pod.utilizations = append(pod.utilizations, *process.Utilization)
		}
	}
}

// find returns nil for a user of whom nothing is known.
func (p *pods) find(g GPU, u *view.User) *Pod {
	name := UserName(u)
	if name == "" {
		return nil
	}
	key := strings.Join([]string{display.Text(g.Cluster), g.Node, name}, "\x00")
	pod := p.byName[key]
	if pod == nil {
		pod = &Pod{Cluster: g.Cluster, Node: g.Node, Name: name}
		p.byName[key] = pod
		p.all = append(p.all, pod)
	}
	if pod.Workload == nil && u.Workload != nil {
		pod.Workload = u.Workload
		if u.WorkloadKind != nil {
			pod.Workload = new(*u.WorkloadKind + "/" + *u.Workload)
		}
	}
	return pod
}

func (p *Pod) addGPU(g GPU) {
	if n := *name(g); !slices.Contains(p.GPUs, n) {
		p.GPUs = append(p.GPUs, n)
	}
}

func orZero(v *int) int {
	if v == nil {
		return 0
	}
	return *v
}

// sum adds what is known.
func sum(a, b *float64) *float64 {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return new(*a + *b)
}

// Pods are the columns of pods.
func Pods() Set[*Pod] {
	return Set[*Pod]{
		identity(optional(text("CLUSTER", "cluster", 58, func(p *Pod) *string { return p.Cluster })), 8),
		identity(text("NODE", "node", 60, func(p *Pod) *string { return &p.Node }), 14),
		identity(text("POD", "pod", 100, func(p *Pod) *string { return &p.Name }), 16),
		shortened(text("WORKLOAD", "workload", 20, func(p *Pod) *string { return p.Workload }), 12),
		count("HELD", "held", 90, func(p *Pod) *int { return p.Held }),
		amount("UTIL", "utilization", 85, func(p *Pod) *float64 { return p.Utilization }, display.Percent),
		amount("MEMORY", "memory_bytes", 80, func(p *Pod) *float64 { return p.Memory }, display.GiB),
		amount("POWER", "power_watts", 40, func(p *Pod) *float64 { return p.Power }, display.Watts),
		{
			Title: "IDLE SINCE", Field: "idle_since", Keep: 50,
			Text: func(p *Pod) string {
				if p.IdleSince == nil {
					return display.Absent
				}
				return display.Time(*p.IdleSince)
			},
			Value: func(p *Pod) any {
				if p.IdleSince == nil {
					return nil
				}
				return p.IdleSince.UTC().Format(time.RFC3339)
			},
		},
		{
			Title: "GPUS", Field: "gpus", Keep: 70, Min: 10,
			Text: func(p *Pod) string { return display.Texts(p.GPUs) }, Value: func(p *Pod) any { return strings.Join(p.GPUs, ",") },
		},
	}
}
