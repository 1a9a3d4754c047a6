// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// site is what the scheduler knows about a node, apart from its resources.
type site struct {
	name   string
	labels map[string]string
	taints []corev1.Taint // that repel pods
}

// placement is what a pod demands of a node, apart from its resources.
type placement struct {
	tolerations []corev1.Toleration
	selector    map[string]string
	terms       []corev1.NodeSelectorTerm // alternatives; nil: any node matches
}

func placementOf(spec *corev1.PodSpec) *placement {
	p := &placement{tolerations: spec.Tolerations, selector: spec.NodeSelector}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			p.terms = required.NodeSelectorTerms // the API server accepts no fewer than one
		}
	}
	return p
}

// fits reports whether the scheduler considers a node's resources for the pod. It first drops the nodes that are cordoned or tainted, and
// those that the pod's selectors exclude.
func (p *placement) fits(n *site) bool {
	for i := range n.taints {
		tolerated := slices.ContainsFunc(p.tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Discard(), &n.taints[i], true)
		})
		if !tolerated {
			return false
		}
	}
	for key, value := range p.selector {
		if label, ok := n.labels[key]; !ok || label != value {
			return false
		}
	}
	return p.terms == nil || slices.ContainsFunc(p.terms, n.meets)
}

// repellingTaints returns the taints that keep pods from being scheduled, including the taint of a cordoned node, which may not have it
// yet.
func repellingTaints(spec *corev1.NodeSpec) []corev1.Taint {
	var taints []corev1.Taint
	for i := range spec.Taints {
		if t := &spec.Taints[i]; t.Effect != corev1.TaintEffectPreferNoSchedule {
			taints = append(taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		}
	}
	if spec.Unschedulable {
		taints = append(taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return taints
}

// meets reports whether the node matches a term.
func (n *site) meets(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions)+len(term.MatchFields) > 0 && // an empty term matches no node
		matchesAll(term.MatchExpressions, n.labels) && !slices.ContainsFunc(term.MatchFields, n.isNot)
}

// isNot reports whether a requirement of fields excludes the node. The API server accepts only In and NotIn with one metadata.name, which
// may be longer than the value of a label.
func (n *site) isNot(r corev1.NodeSelectorRequirement) bool {
	return slices.Contains(r.Values, n.name) != (r.Operator == corev1.NodeSelectorOpIn)
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

func matchesAll(requirements []corev1.NodeSelectorRequirement, set labels.Set) bool {
	for _, r := range requirements {
		requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil || !requirement.Matches(set) {
			return false
		}
	}
	return true
}
