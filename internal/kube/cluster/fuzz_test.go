// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// Whatever the objects have, a snapshot counts requests, and pods that wait, above or at 0, and each of them once.
func FuzzSnapshot(f *testing.F) {
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "train-0", UID: "u"},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Limits: gpus, Requests: gpus}}},
			NodeSelector: map[string]string{"zone": "a"}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
			Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "gpus", Operator: corev1.NodeSelectorOpGt, Values: []string{"4"}}},
					MatchFields:      []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"n1"}}},
				}},
			}}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
		}}},
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"zone": "a", "gpus": "8"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}},
		Status:     corev1.NodeStatus{Capacity: gpus, Allocatable: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}},
	}
	podWire, err1 := pod.Marshal()
	nodeWire, err2 := node.Marshal()
	if err1 != nil || err2 != nil {
		f.Fatal(err1, err2)
	}
	f.Add(podWire, nodeWire)
	pod.Spec.NodeName = "n1"
	podWire, _ = pod.Marshal()
	f.Add(podWire, nodeWire)
	client := fake.NewSimpleClientset()
	names := &store{names: DefaultResources(), follow: true}
	f.Fuzz(func(t *testing.T, podWire, nodeWire []byte) {
		var pod corev1.Pod
		var node corev1.Node
		if pod.Unmarshal(podWire) != nil || node.Unmarshal(nodeWire) != nil {
			return
		}
		view, err := New(client, DefaultResources(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range []any{&pod, &node} {
			got, err := names.storePod(object)
			indexer := view.pods.GetIndexer()
			if object == any(&node) {
				got, err = names.storeNode(object)
				indexer = view.nodes.GetIndexer()
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := indexer.Add(got); err != nil {
				return // an object without a name
			}
		}
		s := view.Snapshot()
		for _, pending := range s.Pending {
			if pending.Pods < 0 || pending.Pods > 1 {
				t.Fatalf("%d pods of one wait", pending.Pods)
			}
		}
		for i := range s.Nodes {
			if s.Nodes[i].Node != node.Name {
				t.Fatalf("a node %q", s.Nodes[i].Node)
			}
		}
	})
}
