// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// runbooks is the page with the steps for each problem.
const runbooks = "https://github.com/otelgpu/gpureceiver/blob/main/docs/operate/alerts.md#"

// maxWorkloads bounds the workloads of a finding.
const maxWorkloads = 10

// Findings returns what is wrong with the nodes of a scope, their GPUs, and its clusters as a whole: the worst first, then by place. A GPU
// that slows down because it has reached its power limit works as it should, and is not a finding.
func Findings(s *view.Snapshot, scope Scope, nodes []*view.Node) []view.Finding {
	var all []view.Finding
	if scope.Node == "" {
		for i := range s.Clusters {
			c := &s.Clusters[i]
			if scope.Cluster == "" || scope.Cluster == c.Name {
				all = append(all, OfCluster(c)...)
			}
		}
	}
	for _, n := range nodes {
		all = append(all, OfNode(n)...)
	}
	for i := range all {
		SetAge(&all[i], s.Time)
	}
	slices.SortStableFunc(all, func(a, b view.Finding) int { return cmp.Compare(SeverityRank(a.Severity), SeverityRank(b.Severity)) })
	return all
}

// SeverityRank returns 0 for the worst severity.
func SeverityRank(s view.Severity) int {
	return slices.Index([]view.Severity{view.SeverityError, view.SeverityWarning, view.SeverityInfo}, s)
}

// SetAge sets the age of a finding at a time.
func SetAge(f *view.Finding, now time.Time) {
	if f.End != nil {
		now = *f.End
	}
	if f.Begin != nil {
		f.Age = new(now.Sub(*f.Begin).Seconds())
	}
}

// OfCluster returns what is wrong with a cluster as a whole.
func OfCluster(c *view.Cluster) []view.Finding {
	return begun(unreadable(view.Finding{Cluster: &c.Name}, "The cluster cannot be read", "gpuclusterunreadable", c.Sources), c.Begins)
}

// OfNode returns what is wrong with a node and its GPUs.
func OfNode(n *view.Node) []view.Finding {
	all := ofNode(n)
	for _, g := range n.GPUs {
		all = append(all, ofGPU(n, g)...)
	}
	return begun(all, n.Begins)
}

// begun sets when findings began.
func begun(all []view.Finding, begins map[string]view.Begin) []view.Finding {
	for i := range all {
		f := &all[i]
		if f.Workloads == nil {
			f.Workloads = []string{}
		}
		if begin, ok := begins[f.Key()]; ok && f.Begin == nil {
			f.Begin, f.BeginKnown = &begin.Time, begin.Known
		}
	}
	return all
}

func ofNode(n *view.Node) []view.Finding {
	base := view.Finding{Severity: view.SeverityWarning, Cluster: n.Cluster, Node: &n.Name}
	all := unreadable(base, "The node cannot be read", "gpusourceunreadable", n.Sources)
	if n.State == view.Stale {
		f := base
		f.Kind, f.What, f.Begin, f.BeginKnown = "stale", "The node is silent", &n.LastSeen, true
		f.Consequence, f.Runbook = "Nothing newer is known of its GPUs: the values shown are its last ones.", runbooks+"gpunodenotread"
		f.Detail = "no data since " + n.LastSeen.UTC().Format(time.RFC3339)
		if n.Interval != nil {
			f.Detail += fmt.Sprintf("; before, every %.0f s", *n.Interval)
		}
		f.Remedy = "Check that the node runs, that its collector runs, and that it reaches this collector."
		all = append(all, f)
	}
	// A lost GPU is missing, and has a finding of its own.
	lost := len(filter(n.GPUs, func(g *view.GPU) bool { return slices.Contains(g.Faults, "lost") }))
	if n.Missing != nil && *n.Missing > lost && (len(n.GPUs) > 0 || len(all) == 0) { // otherwise the source that cannot be read is why
		f := base
		f.Kind, f.What, f.Detail = "missing", "GPUs are missing", fmt.Sprintf("%d cannot be read, although they are or were on the PCI bus", *n.Missing-lost)
		f.Consequence, f.Runbook = "No work can use them.", runbooks+"gpumissing"
		f.Remedy = "Look for XID 79 or a failed probe in the kernel's log. A collector in a container needs all GPUs of the machine."
		all = append(all, f)
	}
	for i := range all {
		all[i].Workloads = workloadsOf(n, n.GPUs...)
	}
	return all
}

// unreadable returns a finding for each source that cannot be read, with the first reason's remedy.
func unreadable(base view.Finding, title, runbook string, sources []view.Source) []view.Finding {
	var all []view.Finding
	for _, source := range sources {
		if source.Readable {
			continue
		}
		f := base
		f.Kind, f.Severity, f.What, f.Source, f.Vendor = "unreadable", view.SeverityWarning, title, &source.Name, source.Vendor
		f.Consequence, f.Runbook = "Nothing newer is known of the GPUs that this source reads.", runbooks+runbook
		f.Detail, f.Remedy = source.Name+": no reason given", remedyOfReason("")
		if len(source.Reasons) > 0 {
			f.Detail, f.Remedy = source.Name+": "+strings.Join(source.Reasons, ", "), remedyOfReason(source.Reasons[0])
		}
		all = append(all, f)
	}
	return all
}

// workloadsOf returns the workloads that hold some GPUs of a node, else those that use them.
func workloadsOf(n *view.Node, gpus ...*view.GPU) []string {
	var holders, users []string
	add := func(list *[]string, u *view.User) {
		if o, ok := OwnerOf(u, n); ok && len(*list) < maxWorkloads {
			name := o.Name
			if o.Namespace != "" {
				name = o.Namespace + "/" + name
			}
			*list = appendNew(*list, name)
		}
	}
	for _, g := range gpus {
		for _, c := range g.Containers {
			if c.Allocated != nil && *c.Allocated {
				add(&holders, &c.User)
			}
			add(&users, &c.User)
		}
		for _, p := range g.Processes {
			add(&users, &p.User)
		}
	}
	if len(holders) > 0 {
		return holders
	}
	return users
}
