// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

// job is the container in which one vendor's GPUs of a node are read.
type job struct {
	target    *TargetConfig
	container exec.Container
}

func (j *job) vendor() gpu.Vendor { return tools[j.target.Tool].vendor }

// plan says which containers are read on one node, and the GPUs of which vendors cannot be read.
type plan struct {
	labels map[string]string
	jobs   []job          // one for each vendor whose GPUs can be read
	unread []unreadVendor // the other vendors
}

// same reports whether two plans read the same containers.
func (p *plan) same(other *plan) bool {
	return slices.Equal(p.jobs, other.jobs) && maps.Equal(p.labels, other.labels)
}

// unreadVendor is a vendor whose GPUs on a node cannot be read. The node has such GPUs, as its capacity or a driver pod shows.
type unreadVendor struct {
	node   string
	vendor gpu.Vendor
	reason error
}

// failure returns why the vendor's GPUs are not read.
func (u *unreadVendor) failure(cluster string) error {
	return &gpu.Failure{
		Reason: gpu.FailureContainerMissing, Err: fmt.Errorf("kubernetes_exec: cluster %s: node %s: %s: %w", cluster, u.node, u.vendor, u.reason),
	}
}

// clusterSnapshot is the nodes and driver pods of a cluster that the API server has listed. Plans are made from it.
type clusterSnapshot struct {
	targets  []TargetConfig
	pods     [][]*driverPod        // by the index of the target
	nodes    map[string]*knownNode // by name, if the node selector selects them
	complete bool                  // all nodes and pods were listed
	selected bool                  // a node selector is configured: other nodes are not read
	toolless map[instance]bool     // the containers in which the tool was not found
}

// instance is a running container, for one tool.
type instance struct{ tool, id string }

var errNoPod = errors.New("no target selects a pod on it; if the driver is installed on the machine itself, " +
	"add a target whose container contains the tool")

// candidate is a pod that a target selects.
type candidate struct {
	order     int // of the target
	target    *TargetConfig
	pod       *driverPod
	container *container
	err       error // why it cannot be read
	// toolless: the tool was not found in it. It is still read if there is no other: the tool may appear.
	toolless bool
}

// plan chooses the containers to read on each node.
func (s *clusterSnapshot) plan() map[string]*plan {
	type unit struct {
		node   string
		vendor gpu.Vendor
	}
	best := make(map[unit]candidate)
	for i := range s.targets {
		t := &s.targets[i]
		for _, pod := range s.pods[i] {
			if pod.node == "" || s.selected && s.nodes[pod.node] == nil {
				continue
			}
			c := candidate{order: i, target: t, pod: pod}
			c.container, c.err = pod.readable(t.Container)
			c.toolless = c.err == nil && s.toolless[instance{t.Tool, c.container.id}]
			u := unit{pod.node, tools[t.Tool].vendor}
			if other, ok := best[u]; !ok || c.before(&other) {
				best[u] = c
			}
		}
	}
	plans := make(map[string]*plan)
	nodePlan := func(node string) *plan {
		p := plans[node]
		if p == nil {
			p = &plan{}
			plans[node] = p
			if known := s.nodes[node]; known != nil {
				p.labels = known.labels
			}
		}
		return p
	}
	for u, c := range best {
		p := nodePlan(u.node)
		if c.err != nil {
			p.unread = append(p.unread, unreadVendor{u.node, u.vendor, c.err})
			continue
		}
		p.jobs = append(p.jobs, job{target: c.target, container: exec.Container{
			Namespace: c.pod.Namespace, Pod: c.pod.Name, Name: c.container.name, ID: c.container.id, HostPID: c.pod.hostPID,
		}})
	}
	for name, node := range s.nodes {
		for _, vendor := range s.vendors() {
			if _, found := best[unit{name, vendor}]; !found && s.complete && node.vendors[vendor] {
				p := nodePlan(name)
				p.unread = append(p.unread, unreadVendor{name, vendor, errNoPod})
			}
		}
	}
	for _, p := range plans {
		slices.SortFunc(p.jobs, func(a, b job) int { return cmp.Compare(a.vendor(), b.vendor()) })
		slices.SortFunc(p.unread, func(a, b unreadVendor) int { return cmp.Compare(a.vendor, b.vendor) })
	}
	return plans
}

// before orders the pods of a node by preference: a readable one, then one in which the tool is not known to be missing, then the pod of
// the earlier target, then the younger one.
func (c *candidate) before(other *candidate) bool {
	if readable := c.err == nil; readable != (other.err == nil) {
		return readable
	}
	if c.toolless != other.toolless {
		return other.toolless
	}
	return cmp.Or(cmp.Compare(c.order, other.order), other.pod.created.Compare(c.pod.created),
		strings.Compare(c.pod.Name, other.pod.Name)) < 0
}

// vendors are the vendors whose GPUs the targets read.
func (s *clusterSnapshot) vendors() []gpu.Vendor {
	var all []gpu.Vendor
	for i := range s.targets {
		if v := tools[s.targets[i].Tool].vendor; !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	return all
}

// emptyTargets returns an error for each namespace and tool if none of their targets selects a pod. The selectors of the targets are alternatives, so
// usually some of them select nothing.
func (s *clusterSnapshot) emptyTargets() []error {
	type group struct{ namespace, tool string }
	var order []group
	selectors := make(map[group][]string)
	found := make(map[group]bool)
	for i := range s.targets {
		g := group{s.targets[i].Namespace, s.targets[i].Tool}
		if selectors[g] == nil {
			order = append(order, g)
		}
		selectors[g] = append(selectors[g], s.targets[i].LabelSelector)
		found[g] = found[g] || len(s.pods[i]) > 0
	}
	var errs []error
	for _, g := range order {
		if !found[g] {
			errs = append(errs, fmt.Errorf("no pod with %s in namespace %s, or no such namespace: no node is read by %s; "+
				"install the GPU operator, or name the pods that contain the tool under targets", strings.Join(selectors[g], " or "),
				g.namespace, g.tool))
		}
	}
	return errs
}
