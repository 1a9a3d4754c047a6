// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const noToleration = "0/3 nodes are available: 1 Insufficient nvidia.com/gpu, 2 node(s) had untolerated taint(s). preemption: " +
	"0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."

// nodeWith returns a node with labels, as names and values, and taints of NoSchedule.
func nodeWith(n *corev1.Node, labels []string, taints ...string) *corev1.Node {
	n.Labels = map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		n.Labels[labels[i]] = labels[i+1]
	}
	for _, key := range taints {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: "present", Effect: corev1.TaintEffectNoSchedule})
	}
	return n
}

func cordoned(n *corev1.Node) *corev1.Node {
	n.Spec.Unschedulable = true
	return n
}

func tolerating(p *corev1.Pod, key string) *corev1.Pod {
	p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
	return p
}

func selecting(p *corev1.Pod, key, value string) *corev1.Pod {
	p.Spec.NodeSelector = map[string]string{key: value}
	return p
}

func requiring(p *corev1.Pod, terms ...corev1.NodeSelectorTerm) *corev1.Pod {
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms},
	}}
	return p
}

// A GPU keeps a pod from being scheduled in some cases, and something else in others, although the scheduler misses a GPU in all of them,
// on the nodes without GPUs.
func TestPending(t *testing.T) {
	full := func(n int) runtime.Object {
		return pod(fmt.Sprint("full-", n), fmt.Sprint("gpu", n), container("main", nvidia, 8))
	}
	gpus := func(n int) *corev1.Node { return node(fmt.Sprint("gpu", n), list(nvidia, 8), list(nvidia, 8)) }
	cpus := func(n int) *corev1.Node { return node(fmt.Sprint("cpu", n), list(), list()) }
	says := func(message string) *corev1.Pod {
		return unschedulable(pod("waits", "", container("main", nvidia, 1)), "0/3 nodes are available: "+message)
	}
	model := func(operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "model", Operator: operator, Values: values}}}
	}
	pools := func(more ...runtime.Object) []runtime.Object {
		return append(more, nodeWith(gpus(1), []string{"model", "a100"}), nodeWith(gpus(2), []string{"model", "h100"}), full(1), cpus(1), cpus(2))
	}
	onNode := func(operator corev1.NodeSelectorOperator, name string) []corev1.NodeSelectorRequirement {
		return []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: operator, Values: []string{name}}}
	}
	long := strings.Repeat("gpu-", 16) + "1" // of DaemonSets, whose pods are bound to nodes in this way
	const otherPool = "3 node(s) didn't match Pod's node affinity/selector, 1 Insufficient nvidia.com/gpu."
	drained := gpus(1)
	drained.Status.Allocatable = list(nvidia, 0)
	lost := node("gpu4", list(nvidia, 0), list(nvidia, 0)) // as kubelets leave it when a plugin that was there is gone
	idle := gpus(3)
	idle.Status.Capacity, idle.Status.Allocatable = list(nvidia, 0), list(nvidia, 0)

	for name, c := range map[string]struct {
		objects []runtime.Object
		want    int64
	}{
		"GPUs that are free, and tainted": {[]runtime.Object{
			nodeWith(gpus(1), nil, nvidia), nodeWith(gpus(2), nil, nvidia), cpus(1),
			unschedulable(pod("waits", "", container("main", nvidia, 1)), noToleration),
		}, 0},
		"GPUs that are taken, and tainted": {[]runtime.Object{
			nodeWith(gpus(1), nil, nvidia), nodeWith(gpus(2), nil, nvidia), cpus(1), full(1), full(2),
			unschedulable(pod("waits", "", container("main", nvidia, 1)), noToleration),
		}, 0},
		"tainted nodes that are full, and tolerated": {[]runtime.Object{
			nodeWith(gpus(1), nil, nvidia), nodeWith(gpus(2), nil, nvidia), cpus(1), full(1), full(2),
			tolerating(says("3 Insufficient nvidia.com/gpu."), nvidia),
		}, 1},
		"a full node beside control plane nodes": {[]runtime.Object{
			gpus(1), full(1), nodeWith(cpus(1), nil, "control-plane"), cpus(2),
			says("1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu."),
		}, 1},
		"memory": {[]runtime.Object{gpus(1), gpus(2), cpus(1), says("1 Insufficient nvidia.com/gpu, 2 Insufficient memory.")}, 0},
		"a volume of another zone": {[]runtime.Object{
			gpus(1), gpus(2), cpus(1), says("1 Insufficient nvidia.com/gpu, 2 node(s) had volume node affinity conflict."),
		}, 0},
		"memory here, a GPU there": {[]runtime.Object{
			gpus(1), gpus(2), full(2), cpus(1), says("1 Insufficient memory, 2 Insufficient nvidia.com/gpu."),
		}, 1},
		"every node is full": {[]runtime.Object{gpus(1), gpus(2), full(1), full(2), cpus(1), says("3 Insufficient nvidia.com/gpu.")}, 1},
		"more than a node has": {[]runtime.Object{
			gpus(1), gpus(2), cpus(1),
			unschedulable(pod("waits", "", container("main", nvidia, 9)), "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."),
		}, 1},
		"no node has any":                  {[]runtime.Object{cpus(1), cpus(2), idle, says("3 Insufficient nvidia.com/gpu.")}, 1},
		"no node at all":                   {[]runtime.Object{says("1 Insufficient nvidia.com/gpu.")}, 1},
		"GPUs that the node may not give":  {[]runtime.Object{drained, gpus(2), full(2), cpus(1), says("3 Insufficient nvidia.com/gpu.")}, 1},
		"cordoned":                         {[]runtime.Object{cordoned(gpus(1)), cpus(1), cpus(2), says("1 node(s) were unschedulable, 2 Insufficient nvidia.com/gpu.")}, 0},
		"cordoned, and a full one":         {[]runtime.Object{cordoned(gpus(1)), gpus(2), full(2), cpus(1), says("1 node(s) were unschedulable, 2 Insufficient nvidia.com/gpu.")}, 1},
		"the selector's pool is full":      {pools(selecting(says(otherPool), "model", "a100")), 1},
		"the selector's pool has some":     {pools(selecting(says(otherPool), "model", "h100")), 0},
		"the selector's pool is not there": {pools(selecting(says(otherPool), "model", "b200")), 0},
		"the selector's pool has lost its device plugin": {[]runtime.Object{
			nodeWith(lost, []string{"model", "a100"}), nodeWith(gpus(2), []string{"model", "h100"}), cpus(1), selecting(says(otherPool), "model", "a100"),
		}, 1},
		"the affinity's pool is full":        {pools(requiring(says(otherPool), model(corev1.NodeSelectorOpIn, "a100"))), 1},
		"the affinity's pool has some":       {pools(requiring(says(otherPool), model(corev1.NodeSelectorOpNotIn, "a100"))), 0},
		"one of the affinity's pool is full": {pools(requiring(says(otherPool), model(corev1.NodeSelectorOpIn, "b200"), model(corev1.NodeSelectorOpExists))), 1},
		"the affinity's node is full": {pools(requiring(says(otherPool), corev1.NodeSelectorTerm{
			MatchFields: onNode(corev1.NodeSelectorOpIn, "gpu1"),
		})), 1},
		"the affinity's node has a name that no label may have": {[]runtime.Object{
			node(long, list(nvidia, 8), list(nvidia, 8)), pod("full", long, container("main", nvidia, 8)), gpus(2), cpus(1),
			requiring(says(otherPool), corev1.NodeSelectorTerm{MatchFields: onNode(corev1.NodeSelectorOpIn, long)}),
		}, 1},
		"any node but the one that is full": {pools(requiring(says(otherPool), corev1.NodeSelectorTerm{
			MatchFields: onNode(corev1.NodeSelectorOpNotIn, "gpu1"),
		})), 0},
		"an affinity that says nothing": {pools(requiring(says(otherPool), corev1.NodeSelectorTerm{})), 0},
		"an affinity that is not known": {pools(requiring(says(otherPool), model("Like", "a100"))), 0},
	} {
		t.Run(name, func(t *testing.T) {
			v := start(t, fake.NewClientset(c.objects...))
			assert.Equal(t, []gpu.PendingPods{{Resource: nvidia, Pods: c.want}}, v.Snapshot().Pending)
		})
	}
}

func TestTaints(t *testing.T) {
	node := &site{
		name: "n",
		taints: repellingTaints(&corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "a", Value: "5", Effect: corev1.TaintEffectNoSchedule},
			{Key: "b", Effect: corev1.TaintEffectPreferNoSchedule}, // repels no pod
		}}),
	}
	for name, c := range map[string]struct {
		tolerations []corev1.Toleration
		want        bool
	}{
		"none":           {nil, false},
		"all":            {[]corev1.Toleration{{Operator: corev1.TolerationOpExists}}, true},
		"key":            {[]corev1.Toleration{{Key: "b"}, {Key: "a", Operator: corev1.TolerationOpExists}}, true},
		"value":          {[]corev1.Toleration{{Key: "a", Value: "5"}}, true},
		"another value":  {[]corev1.Toleration{{Key: "a", Value: "6"}}, false},
		"another effect": {[]corev1.Toleration{{Key: "a", Value: "5", Effect: corev1.TaintEffectNoExecute}}, false},
		"no number":      {[]corev1.Toleration{{Key: "a", Value: "x", Operator: corev1.TolerationOpLt}}, false},
		"a number":       {[]corev1.Toleration{{Key: "a", Value: "6", Operator: corev1.TolerationOpLt}}, true},
	} {
		p := &placement{tolerations: c.tolerations}
		assert.Equal(t, c.want, p.fits(node), name)
	}
}

// BenchmarkPending has the worst case: a thousand full nodes and a thousand pods that fit none of them.
func BenchmarkPending(b *testing.B) {
	v, err := New(fake.NewClientset(), DefaultResources(), nil)
	require.NoError(b, err)
	m := &store{names: DefaultResources()}
	for i := range 1000 {
		stored, _ := m.storeNode(nodeWith(node(fmt.Sprint("n", i), list(nvidia, 0), list(nvidia, 8)), []string{"model", "a100"}, nvidia))
		require.NoError(b, v.nodes.GetStore().Add(stored))
		object, _ := m.storePod(pod(fmt.Sprint("taken", i), fmt.Sprint("n", i), container("main", nvidia, 8)))
		require.NoError(b, v.pods.GetStore().Add(object))
		waits := tolerating(unschedulable(pod(fmt.Sprint("waits", i), "", container("main", nvidia, 8)), "1 Insufficient nvidia.com/gpu"), nvidia)
		stored, _ = m.storePod(selecting(waits, "model", "h100"))
		require.NoError(b, v.pods.GetStore().Add(stored))
	}
	b.ReportAllocs()
	for b.Loop() {
		v.Snapshot()
	}
}

// All operators of the API, and all parts of a taint that a toleration may name.
func TestFits(t *testing.T) {
	n := &site{labels: map[string]string{"gpus": "8", "model": "h100"}}
	for _, c := range []struct {
		key      string
		operator corev1.NodeSelectorOperator
		values   []string
		want     bool
	}{
		{"model", corev1.NodeSelectorOpIn, []string{"a100", "h100"}, true},
		{"model", corev1.NodeSelectorOpIn, []string{"a100"}, false},
		{"model", corev1.NodeSelectorOpNotIn, []string{"a100"}, true},
		{"model", corev1.NodeSelectorOpNotIn, []string{"h100"}, false},
		{"model", corev1.NodeSelectorOpExists, nil, true},
		{"other", corev1.NodeSelectorOpExists, nil, false},
		{"model", corev1.NodeSelectorOpDoesNotExist, nil, false},
		{"other", corev1.NodeSelectorOpDoesNotExist, nil, true},
		{"gpus", corev1.NodeSelectorOpGt, []string{"7"}, true},
		{"gpus", corev1.NodeSelectorOpGt, []string{"8"}, false},
		{"gpus", corev1.NodeSelectorOpLt, []string{"9"}, true},
		{"gpus", corev1.NodeSelectorOpLt, []string{"8"}, false},
	} {
		term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: c.key, Operator: c.operator, Values: c.values}}}
		assert.Equal(t, c.want, n.meets(term), "%s %s %v", c.key, c.operator, c.values)
	}

	n.taints = repellingTaints(&corev1.NodeSpec{Taints: []corev1.Taint{
		{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}, {Key: "soft", Effect: corev1.TaintEffectPreferNoSchedule},
	}})
	for _, c := range []struct {
		toleration corev1.Toleration
		want       bool
	}{
		{corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists}, true},
		{corev1.Toleration{Key: "gpu", Value: "yes"}, true},
		{corev1.Toleration{Key: "gpu", Value: "no"}, false},
		{corev1.Toleration{Key: "other", Operator: corev1.TolerationOpExists}, false},
		{corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}, true},
		{corev1.Toleration{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}, false},
	} {
		p := placement{tolerations: []corev1.Toleration{c.toleration}}
		assert.Equal(t, c.want, p.fits(n), "%v", c.toleration)
	}
}
