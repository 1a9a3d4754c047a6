// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func stored(t *testing.T, pod *corev1.Pod) *driverPod {
	t.Helper()
	object, err := storeDriverPod(pod)
	require.NoError(t, err)
	return object.(*driverPod)
}

func TestReadable(t *testing.T) {
	now := metav1.Now()
	for _, tt := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{name: "ready", change: func(*corev1.Pod) {}},
		{name: "pending", change: func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, want: "is Pending"},
		{name: "deleted", change: func(p *corev1.Pod) { p.DeletionTimestamp = &now }, want: "is being deleted"},
		{name: "not ready", change: func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }, want: "is not ready"},
		{name: "no condition", change: func(p *corev1.Pod) { p.Status.Conditions = nil }, want: "is not ready"},
		{
			name: "container waits", want: "container nvidia-driver-ctr of pod gpu-operator/driver-n1 is not running",
			change: func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = corev1.ContainerState{} },
		},
		{name: "no status", change: func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }, want: "is not running"},
		{
			name: "another container", want: "has no container nvidia-driver-ctr, only driver: correct the container of the target",
			change: func(p *corev1.Pod) { p.Spec.Containers[0].Name = "driver" },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pod, _ := exectest.Driver("n1")
			tt.change(pod)
			place, err := stored(t, pod).readable(driverContainer)
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, container{name: driverContainer, id: "containerd://n1", running: true}, *place)
		})
	}
}

func TestPlan(t *testing.T) {
	config := DefaultConfig()
	config.Targets = []TargetConfig{
		{LabelSelector: classicDriver},
		{LabelSelector: resourceDriver},
		{LabelSelector: "app=amd", Namespace: "amd", Container: "tool", Tool: ToolAMDSMI},
	}
	targets := config.targets()
	pod := func(node string, change func(*corev1.Pod)) *driverPod {
		p, _ := exectest.Driver(node)
		if change != nil {
			change(p)
		}
		return stored(t, p)
	}
	amd := func(p *corev1.Pod) {
		p.Namespace, p.Name, p.Spec.Containers[0].Name, p.Status.ContainerStatuses[0].Name = "amd", "amd-n1", "tool", "tool"
		p.Spec.HostPID = false
	}
	pending := func(p *corev1.Pod) { p.Name, p.Status.Phase = "a-pending", corev1.PodPending }
	young := func(p *corev1.Pod) {
		p.Name = "z-young"
		p.CreationTimestamp = metav1.NewTime(p.CreationTimestamp.Add(time.Hour))
	}
	s := &clusterSnapshot{
		targets: targets, complete: true,
		pods: [][]*driverPod{
			{pod("n1", nil), pod("n2", pending), pod("n3", pending), pod("n3", nil), pod("n4", nil), pod("n4", young), pod("", nil)},
			{pod("n1", nil), pod("n5", nil)},
			{pod("n1", amd)},
		},
		nodes: map[string]*knownNode{
			"n1": {vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true, gpu.AMD: true}, labels: map[string]string{"k8s.node.label.zone": "a"}}, "n2": {vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true}},
			"n6": {vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true}}, "n7": {vendors: map[gpu.Vendor]bool{gpu.AMD: true}}, "n8": {},
		},
	}
	plans := s.plan()
	unreadable := func() map[string]error {
		got := map[string]error{}
		for name, p := range plans {
			for _, u := range p.unread {
				assert.Equal(t, name, u.node)
				got[name+" "+string(u.vendor)] = u.reason
			}
			if len(p.jobs) == 0 {
				delete(plans, name)
			}
		}
		return got
	}
	cannot := unreadable()
	nvidia := func(pod, node string) job {
		return job{target: &targets[0], container: exec.Container{Namespace: defaultNamespace, Pod: pod, Name: driverContainer, ID: "containerd://" + node, HostPID: true}}
	}
	second := nvidia("driver-n5", "n5")
	second.target = &targets[1]
	assert.Equal(t, map[string]*plan{
		"n1": {
			labels: map[string]string{"k8s.node.label.zone": "a"},
			jobs:   []job{{target: &targets[2], container: exec.Container{Namespace: "amd", Pod: "amd-n1", Name: "tool", ID: "containerd://n1"}}, nvidia("driver-n1", "n1")},
		},
		"n3": {jobs: []job{nvidia("driver-n3", "n3")}},
		"n4": {jobs: []job{nvidia("z-young", "n4")}},
		"n5": {jobs: []job{second}},
	}, plans, "a pod with both labels is read once, of several the readable and then the younger")
	require.Len(t, cannot, 3)
	require.ErrorContains(t, cannot["n2 NVIDIA"], "a-pending is Pending")
	assert.Equal(t, errNoPod, cannot["n6 NVIDIA"])
	assert.Equal(t, errNoPod, cannot["n7 AMD"])

	s.selected = true
	plans = s.plan()
	unreadable()
	assert.Len(t, plans, 1, "nodes that are not selected are not read")
	assert.Contains(t, plans, "n1")

	s.complete = false
	plans = s.plan()
	assert.Len(t, unreadable(), 1, "what is not all is not missed")
}

// If a node has two pods, the one with the tool is read, whatever their order and age. If neither has the tool, the younger one is read,
// because its tool may still be installed.
func TestPlanWithoutTool(t *testing.T) {
	config := DefaultConfig()
	older, _ := exectest.Driver("n1")
	younger := older.DeepCopy()
	younger.Name = "younger"
	younger.CreationTimestamp = metav1.NewTime(older.CreationTimestamp.Add(time.Hour))
	younger.Status.ContainerStatuses[0].ContainerID = "containerd://younger"
	for _, tt := range []struct {
		toolless []string
		want     string
	}{{nil, "younger"}, {[]string{"younger"}, "driver-n1"}, {[]string{"n1"}, "younger"}, {[]string{"n1", "younger"}, "younger"}} {
		s := &clusterSnapshot{
			targets: config.targets(), complete: true, pods: [][]*driverPod{{stored(t, older), stored(t, younger)}, nil}, toolless: map[instance]bool{},
		}
		for _, id := range tt.toolless {
			s.toolless[instance{ToolNvidiaSMI, "containerd://" + id}] = true
		}
		plans := s.plan()
		require.Len(t, plans["n1"].jobs, 1)
		assert.Equal(t, tt.want, plans["n1"].jobs[0].container.Pod)
	}
}

func TestEmpty(t *testing.T) {
	config := DefaultConfig()
	s := &clusterSnapshot{targets: config.targets(), pods: make([][]*driverPod, 2)}
	errs := s.emptyTargets()
	require.Len(t, errs, 1)
	assert.Equal(t, "no pod with app=nvidia-driver-daemonset or app.kubernetes.io/component=nvidia-driver in namespace gpu-operator, "+
		"or no such namespace: no node is read by nvidia_smi; install the GPU operator, or name the pods that contain the tool under targets",
		errs[0].Error())
	s.pods[1] = []*driverPod{{}}
	assert.Empty(t, s.emptyTargets())
}

func TestStoreNode(t *testing.T) {
	_, node := exectest.Driver("n1")
	node.Labels["topology.kubernetes.io/zone"] = "z"
	got := storeNode(node, []string{"nvidia.com/gpu.*", "zone"})
	assert.Equal(t, map[string]string{"k8s.node.label.nvidia.com/gpu.product": "H100", "k8s.node.label.zone": "a"}, got.labels)
	assert.True(t, got.vendors[gpu.NVIDIA])
	assert.False(t, got.vendors[gpu.AMD])
	for name, want := range map[corev1.ResourceName]bool{
		"nvidia.com/gpu": true, "nvidia.com/mig-1g.10gb": true, "nvidia.com/gpu.shared": true, "cpu": false, "nvidia.com/other": false,
	} {
		node.Status.Capacity = corev1.ResourceList{name: resource.MustParse("1")}
		assert.Equal(t, want, storeNode(node, nil).vendors[gpu.NVIDIA], name)
	}
	for name, want := range map[corev1.ResourceName]bool{
		"amd.com/gpu": true, "amd.com/cpx_nps4": true, "amd.com/nic": false, "amd.com/vnic": false,
	} {
		node.Status.Capacity = corev1.ResourceList{name: resource.MustParse("1")}
		assert.Equal(t, want, storeNode(node, nil).vendors[gpu.AMD], name)
	}
	node.Status.Capacity = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("0"), "amd.com/gpu": resource.MustParse("1")}
	got = storeNode(node, nil)
	assert.False(t, got.vendors[gpu.NVIDIA])
	assert.True(t, got.vendors[gpu.AMD])
	assert.Nil(t, got.labels)
}

func TestDiffer(t *testing.T) {
	a := &knownNode{vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true}, labels: map[string]string{"a": "b"}}
	b := &knownNode{vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true}, labels: map[string]string{"a": "b"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}
	assert.False(t, differ(a, b))
	assert.True(t, differ(a, &knownNode{vendors: map[gpu.Vendor]bool{gpu.NVIDIA: true}}))
	assert.True(t, differ(a, &knownNode{labels: a.labels}))
	assert.True(t, differ(&driverPod{}, &driverPod{}))
}
