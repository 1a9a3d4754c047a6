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

// placement is where a pod may be scheduled to, resources aside.
type placement struct {
	tolerations []corev1.Toleration
	selector    map[string]string
	terms       []corev1.NodeSelectorTerm // one of them; any node where it is nil
}

func placementOf(spec *corev1.PodSpec) *placement {
	p := &placement{tolerations: spec.Tolerations, selector: spec.NodeSelector}
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		if required := spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; required != nil {
			p.terms = required.NodeSelectorTerms // the API server takes no fewer than one
		}
	}
	return p
}

// fits tells whether the scheduler looks at a node's resources for the pod at all: it first sorts out the nodes that are
// cordoned or tainted, and those that the pod's selectors leave out.
func (p *placement) fits(n *storedNode) bool {
	for i := range n.taints {
		tolerated := slices.ContainsFunc(p.tolerations, func(t corev1.Toleration) bool {
			return t.ToleratesTaint(logr.Discard(), &n.taints[i], true)
		})
		if !tolerated {
			return false
		}
	}
	for key, value := range p.selector {
		if has, ok := n.labels[key]; !ok || has != value {
			return false
		}
	}
	return p.terms == nil || slices.ContainsFunc(p.terms, n.meets)
}

// keeping are the taints that keep pods from being scheduled. A node may be cordoned before it is tainted for it.
func keeping(spec *corev1.NodeSpec) []corev1.Taint {
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

func (n *storedNode) meets(term corev1.NodeSelectorTerm) bool {
	return len(term.MatchExpressions)+len(term.MatchFields) > 0 && // one that says nothing is no node
		all(term.MatchExpressions, n.labels) && !slices.ContainsFunc(term.MatchFields, n.isNot)
}

// isNot tells whether a requirement of fields leaves the node out. The API server takes none but In and NotIn of one
// metadata.name, which may be longer than the value of a label.
func (n *storedNode) isNot(r corev1.NodeSelectorRequirement) bool {
	return slices.Contains(r.Values, n.Name) != (r.Operator == corev1.NodeSelectorOpIn)
}

var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

func all(requirements []corev1.NodeSelectorRequirement, of labels.Set) bool {
	for _, r := range requirements {
		requirement, err := labels.NewRequirement(r.Key, operators[r.Operator], r.Values)
		if err != nil || !requirement.Matches(of) {
			return false
		}
	}
	return true
}
