// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func TestFleet(t *testing.T) {
	s := exectest.NewServer(t)
	workload := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "train-0", UID: podUID, Labels: map[string]string{"cost-center": "42", "other": "x"},
			Annotations:     map[string]string{"example.com/contact": "ml@example.com", "secret": "s"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "train", UID: "u"}},
		},
		Spec: corev1.PodSpec{NodeName: "n1"},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			Name: "main", ContainerID: "containerd://" + containerID, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}},
	}
	s.Put(workload)
	m := &exectest.Machine{UUID: "GPU-1", Processes: []string{"41, GPU-1, 400 MiB, /usr/bin/python3\n", "99, GPU-1, 1 MiB, /bin/other\n"}, Table: map[int64]string{41: inPrivate}}
	pod, node := s.Add("n1", m)
	pod.Labels["app.kubernetes.io/component"] = "nvidia-driver"
	s.Put(pod)
	config := configOf(clusterOf(s, "prod"))
	config.NodeLabels = []string{"nvidia.com/*"}
	config.Owners = OwnersConfig{Labels: []string{"cost-center"}, Annotations: []string{"example.com/contact"}}
	f, got, problems := start(t, config)

	var read gpu.Node
	eventually(t, func() bool { // the lists of nodes and pods may arrive a little later
		read = readTimes(t, got, "prod/n1", 2)
		c := read.Processes[0].Container
		return read.Host.Labels != nil && c != nil && c.PodName != ""
	}, "no names")
	assert.Equal(t, gpu.Host{NodeName: "n1", ClusterName: "prod", Labels: map[string]string{"k8s.node.label.nvidia.com/gpu.product": "H100"}}, read.Host)
	require.Len(t, read.Devices, 1)
	assert.Equal(t, "GPU-1", read.Devices[0].ID)
	assert.Equal(t, "nvidia3", read.Devices[0].Name, "its device node, and not its index")
	assert.Equal(t, gpu.Some(0.42), read.Devices[0].Utilization[gpu.TaskGeneral])
	require.Len(t, read.Processes, 2)
	assert.Empty(t, read.Problems)
	assert.Equal(t, &gpu.Container{
		Namespace: "team", PodName: "train-0", PodUID: podUID, Name: "main", ID: containerID,
		Owners: []gpu.Owner{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "train", UID: "u"}},
		Labels: map[string]string{"k8s.pod.label.cost-center": "42", "k8s.pod.annotation.example.com/contact": "ml@example.com"},
	}, read.Processes[0].Container)
	assert.Equal(t, time.Unix(1700000050, 0), read.Processes[0].Created)
	assert.Nil(t, read.Processes[1].Container)
	require.Len(t, read.Containers, 1)
	use := read.Containers[0]
	assert.Same(t, read.Processes[0].Container, use.Container)
	assert.Equal(t, "GPU-1", use.DeviceID)
	assert.Equal(t, gpu.Some[int64](400<<20), use.MemoryUsage)
	assert.False(t, use.Allocated.Known(), "which cannot be seen from outside")
	assert.False(t, read.Devices[0].HoldersKnown)
	eventually(t, func() bool { return problems.lines("prod") == "" }, problems.lines("prod"))

	// In a steady state a read is one exec, of a script that runs all calls of the tool.
	before := s.Count(s.Requests, "GET")
	calls := m.Called()
	after := s.Count(s.Requests, "GET")
	reads := 0
	for i, call := range calls {
		if strings.HasPrefix(call, "nvidia-smi --query-gpu=") {
			reads++
			if i+2 < len(calls) {
				assert.Equal(t, "nvidia-smi --query-compute-apps=pid,gpu_uuid,used_memory,process_name --format=csv", calls[i+1])
				assert.Equal(t, "nvidia-smi pmon -c 1 -s um", calls[i+2])
			}
		}
	}
	assert.Equal(t, 1, strings.Count(strings.Join(calls, "\n"), "--help-query-gpu"))
	assert.Equal(t, 1, strings.Count(strings.Join(calls, "\n"), "-q -x"))
	assert.Len(t, lookups(m), 1)
	assert.GreaterOrEqual(t, after, reads+2, "the help, the XML and the lookup besides; some may be on their way")
	assert.LessOrEqual(t, before, reads+4)
	assert.Zero(t, s.Count(s.Requests, "POST"))

	// A pod that is gone from the API keeps its names while its process still runs.
	s.Remove(workload)
	read = readTimes(t, got, "prod/n1", 2)
	assert.Equal(t, "train-0", read.Processes[0].Container.PodName)

	// The driver pod restarts: the node is not read, which is reported. Then it is read again, in the new pod.
	missing := pod.DeepCopy()
	s.Remove(pod)
	eventually(t, func() bool {
		_, _, _, err := got.state("prod/n1")
		return err != nil && strings.Contains(err.Error(), "cluster prod: node n1: NVIDIA: no target selects a pod on it")
	}, "not reported")
	require.Len(t, got.unreadOf("prod/n1").Devices, 1)
	assert.True(t, got.unreadOf("prod/n1").Devices[0].Unread, "its GPU is known still")
	assert.NotEmpty(t, f.Stats()[0].Nodes[0].Unreadable)
	assert.False(t, f.Stats()[0].Nodes[0].LastGood.IsZero(), "how long ago it was read is known still")
	missing.Name = "driver-again"
	missing.Status.ContainerStatuses[0].ContainerID = "containerd://again"
	s.Set(func() { s.Boxes["driver-again"] = m.Box() })
	s.Put(missing)
	readTimes(t, got, "prod/n1", 1)
	assert.Empty(t, got.left())
	eventually(t, func() bool { return problems.lines("prod") == "" }, "still reported")

	stats := f.Stats()
	require.Len(t, stats, 1)
	require.Len(t, stats[0].Nodes, 1)
	assert.True(t, stats[0].Nodes[0].Success)

	// The node leaves.
	s.Remove(missing)
	s.Remove(node)
	eventually(t, func() bool { return slices.Equal(got.left(), []string{"prod/n1"}) }, "not reported")
	eventually(t, func() bool {
		return strings.Contains(problems.lines("prod"), "no pod with app=nvidia-driver-daemonset or")
	}, "not reported")
}

func TestFleetNodeSelector(t *testing.T) {
	s := exectest.NewServer(t)
	s.Add("n1", &exectest.Machine{})
	s.Add("n2", &exectest.Machine{})
	s.Set(func() {})
	_, node := exectest.Driver("n2")
	node.Labels["agent"] = "yes"
	s.Put(node)
	config := configOf(clusterOf(s, "prod"))
	config.NodeSelector = "!agent"
	config.AttributePods = false
	f, got, _ := start(t, config)
	readTimes(t, got, "prod/n1", 3)
	good, failed, _, _ := got.state("prod/n2")
	assert.Zero(t, good+failed)
	assert.Nil(t, f.clusters[0].view, "no pods are attributed")
}

// One cluster is down and another does not answer: the third is not affected.
func TestFleetIsolation(t *testing.T) {
	good, frozen := exectest.NewServer(t), exectest.NewServer(t)
	good.Add("n1", &exectest.Machine{})
	frozen.Add("n1", &exectest.Machine{})
	frozen.Exec.Freeze = make(chan struct{})
	t.Cleanup(func() { close(frozen.Exec.Freeze) })
	dead := clusterOf(good, "dead")
	dead.API.Endpoint = "https://127.0.0.1:1"
	f, got, problems := start(t, configOf(dead, clusterOf(frozen, "frozen"), clusterOf(good, "good")))
	node := readTimes(t, got, "good/n1", 5)
	assert.Equal(t, "good", node.Host.ClusterName)
	reads, _, _, _ := got.state("frozen/n1")
	assert.Zero(t, reads)
	eventually(t, func() bool { return strings.Contains(problems.lines("dead"), "kubernetes_exec: cluster dead:") }, "not reported")
	assert.NotContains(t, problems.lines("good"), "dead")
	assert.Len(t, f.Stats(), 3)
	require.NoError(t, f.Close()) // also while an exec is out that nothing answers
}

// The API server goes away, and comes back.
func TestFleetOutage(t *testing.T) {
	s := exectest.NewServer(t)
	s.Add("n1", &exectest.Machine{})
	_, got, _ := start(t, configOf(clusterOf(s, "prod")))
	readTimes(t, got, "prod/n1", 2)
	s.Set(func() { s.Down = true })
	eventually(t, func() bool { _, failed, _, _ := got.state("prod/n1"); return failed > 0 }, "no failure")
	_, _, _, err := got.state("prod/n1")
	require.ErrorContains(t, err, "exec in container nvidia-driver-ctr of pod gpu-operator/driver-n1")
	s.Set(func() { s.Down = false })
	readTimes(t, got, "prod/n1", 2)
	assert.Empty(t, got.left())
}

// Missing permissions are reported, and the rest continues: without nodes there are no labels, without all pods no names.
func TestFleetPermissions(t *testing.T) {
	s := exectest.NewServer(t)
	s.Forbidden = map[string]bool{"/api/v1/nodes": true, "/api/v1/pods": true}
	s.Add("n1", &exectest.Machine{UUID: "GPU-1", Processes: []string{"41, GPU-1, 400 MiB, python3\n"}, Table: map[int64]string{41: ofPod}})
	labelled := configOf(clusterOf(s, "prod"))
	labelled.NodeLabels = []string{"zone"}
	_, got, problems := start(t, labelled)
	node := readTimes(t, got, "prod/n1", 2)
	assert.Nil(t, node.Host.Labels)
	assert.Equal(t, &gpu.Container{PodUID: podUID, ID: containerID}, node.Processes[0].Container)
	eventually(t, func() bool {
		lines := problems.lines("prod")
		return strings.Contains(lines, "nodes: ") && strings.Contains(lines, "pods: kubernetes_exec")
	}, "not reported")
	assert.Regexp(t, `(?m)^nodes: kubernetes_exec: cluster prod: .*grant list and watch$`, problems.lines("prod"))
	assert.Regexp(t, `(?m)^attribution: pods: kubernetes_exec: cluster prod: .*grant list and watch$`, problems.lines("prod"))

	// With a node selector nothing can be read without the list of nodes, because it is unknown which nodes run an agent.
	selected := configOf(clusterOf(s, "prod"))
	selected.NodeLabels, selected.NodeSelector = labelled.NodeLabels, "!agent"
	_, got, problems = start(t, selected)
	eventually(t, func() bool { return strings.Contains(problems.lines("prod"), "nodes: ") }, "not reported")
	good, failed, _, _ := got.state("prod/n1")
	assert.Zero(t, good+failed)

	s.Set(func() { s.Forbidden = map[string]bool{"/api/v1/namespaces/gpu-operator/pods": true} })
	_, got, problems = start(t, labelled)
	eventually(t, func() bool { return strings.Contains(problems.lines("prod"), "driver pods of target 1: ") }, "not reported")
	assert.Contains(t, problems.lines("prod"), "grant list and watch, and get and create on pods/exec, in namespace gpu-operator (deploy/kubernetes/exec-driver-pods)")
	assert.NotContains(t, problems.lines("prod"), "no pod with", "which is not known")
	assert.NotContains(t, problems.lines("prod"), "node n1")
	good, failed, _, _ = got.state("prod/n1")
	assert.Zero(t, good+failed)
}

// Every fault of a driver pod is reported, and the fleet continues.
func TestFleetBadPods(t *testing.T) {
	s := exectest.NewServer(t)
	for node, b := range map[string]exectest.Box{
		"garbage": exectest.Commands(func(_ []string, stdout, _ io.Writer, _ <-chan struct{}) int {
			_, _ = io.WriteString(stdout, "\x00\xffgarbage\n\n<xml")
			return 0
		}),
		"missing": exectest.Commands(func([]string, io.Writer, io.Writer, <-chan struct{}) int { return 127 }),
		"broken": func([]string, io.Writer, io.Writer, <-chan struct{}) (int, error) {
			return 0, &exec.StartError{Message: "container not found (\"nvidia-driver-ctr\")"}
		},
		"flood": exectest.Flood,
	} {
		s.Add(node, &exectest.Machine{})
		s.Boxes["driver-"+node] = b
	}
	s.Add("plain", &exectest.Machine{})
	m := &exectest.Machine{UUID: "GPU-plain"}
	s.Boxes["driver-plain"] = func(argv []string, stdout, stderr io.Writer, done <-chan struct{}) (int, error) {
		if argv[0] != "nvidia-smi" {
			return 0, exectest.NotStarted(argv[0])
		}
		return m.Box()(argv, stdout, stderr, done)
	}
	_, got, _ := start(t, configOf(clusterOf(s, "prod")))
	readTimes(t, got, "prod/plain", 2)
	for _, name := range []string{"garbage", "broken", "flood", "missing"} {
		eventually(t, func() bool { _, failed, node, _ := got.state("prod/" + name); return failed > 0 || node.Failure != nil }, name)
		assert.Empty(t, got.unreadOf("prod/"+name).Devices)
	}
	_, _, _, err := got.state("prod/broken")
	require.ErrorContains(t, err, "container not found")
	good, _, _, err := got.state("prod/missing")
	require.ErrorContains(t, err, "choose the container that contains it")
	assert.Zero(t, good, "how many GPUs the node has was not read")
}

func TestNewFails(t *testing.T) {
	config := configOf(ClusterConfig{Name: "prod"})
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := New(config, Options{Interval: time.Second, Timeout: time.Second, Sink: newSunk().sink})
	require.ErrorContains(t, err, "clusters::0: kube: auth_type serviceAccount: KUBERNETES_SERVICE_HOST")
	f := &Fleet{}
	require.NoError(t, f.Close(), "never started")
}

// clusterOf returns the configuration of a cluster that the server serves.
func clusterOf(s *exectest.Server, name string) ClusterConfig {
	return ClusterConfig{Name: name, API: s.Config()}
}
