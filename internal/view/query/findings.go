// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Findings returns what is wrong with the nodes of a scope, their GPUs, and its clusters as a whole: the worst first, then by place. A GPU
// that slows down because it has reached its power limit works as it should, and is not a finding.
func Findings(s *view.Snapshot, scope Scope, nodes []*view.Node) []view.Finding {
	var all []view.Finding
	if scope.Node == "" {
		for i := range s.Clusters {
			c := &s.Clusters[i]
			if scope.Cluster == "" || scope.Cluster == c.Name {
				all = append(all, unreadable(view.Finding{Cluster: &c.Name}, "The cluster cannot be read", c.Sources)...)
			}
		}
	}
	for _, n := range nodes {
		all = append(all, ofNode(s, n)...)
		for _, g := range n.GPUs {
			all = append(all, ofGPU(n, g)...)
		}
	}
	slices.SortStableFunc(all, func(a, b view.Finding) int { return cmp.Compare(SeverityRank(a.Severity), SeverityRank(b.Severity)) })
	return all
}

// SeverityRank returns 0 for the worst severity.
func SeverityRank(s view.Severity) int {
	return slices.Index([]view.Severity{view.SeverityError, view.SeverityWarning, view.SeverityInfo}, s)
}

func ofNode(s *view.Snapshot, n *view.Node) []view.Finding {
	base := view.Finding{Severity: view.SeverityWarning, Cluster: n.Cluster, Node: &n.Name}
	all := unreadable(base, "The node cannot be read", n.Sources)
	if n.State == view.Stale {
		f := base
		f.Kind, f.What = "stale", "The node is silent"
		f.Detail = fmt.Sprintf("last message %.0f s ago", s.Time.Sub(n.LastSeen).Seconds())
		if n.Interval != nil {
			f.Detail += fmt.Sprintf("; one arrived every %.0f s", *n.Interval)
		}
		f.Remedy = "Check that the node runs, that its collector runs, and that it reaches this collector. The data of the node are old."
		all = append(all, f)
	}
	if n.Missing != nil && *n.Missing > 0 && (len(n.GPUs) > 0 || len(all) == 0) { // otherwise the source that cannot be read is why
		f := base
		f.Kind, f.What, f.Detail = "missing", "GPUs are missing", fmt.Sprintf("%d cannot be read, although they are or were on the PCI bus", *n.Missing)
		f.Remedy = "Look for XID 79 or a failed probe in the kernel's log. A collector in a container needs all GPUs of the machine."
		all = append(all, f)
	}
	return all
}

// unreadable returns a finding for each source that cannot be read, with the first reason's remedy.
func unreadable(base view.Finding, title string, sources []view.Source) []view.Finding {
	var all []view.Finding
	for _, source := range sources {
		if source.Readable {
			continue
		}
		f := base
		f.Kind, f.Severity, f.What = "unreadable", view.SeverityWarning, title
		f.Detail, f.Remedy = source.Name+": no reason given", remedyOfReason("")
		if len(source.Reasons) > 0 {
			f.Detail, f.Remedy = source.Name+": "+strings.Join(source.Reasons, ", "), remedyOfReason(source.Reasons[0])
		}
		all = append(all, f)
	}
	return all
}
