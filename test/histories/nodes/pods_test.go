// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nodes

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/test/histories"
)

// pod is a pod with its containers.
type pod struct {
	name, uid  string
	containers []*container
}

type container struct {
	pod      *pod
	name, id string
	devices  []string // the kubelet's names of its devices
	claimed  bool
}

// cluster is the pods and processes on the machine, the kubelet and the API server.
type cluster struct {
	t       *testing.T
	rng     *rand.Rand
	gpus    *nvidiaGPUs
	kubelet *kubelettest.Kubelet
	api     *fake.Clientset // nil: not permitted
	proc    string
	logs    string // empty: not permitted
	modes   [nvidiaCount]string

	pods      []*pod
	processes []*gpuProcess
	serial    int
	late      []func() // objects that the API server shows later
}

func newCluster(t *testing.T, rng *rand.Rand, gpus *nvidiaGPUs) *cluster {
	t.Helper()
	c := &cluster{t: t, rng: rng, gpus: gpus, kubelet: kubelettest.New(t), proc: t.TempDir()}
	modes := []string{"exclusive", "replicas", "claims"}
	if rng.IntN(3) > 0 {
		c.api, modes = fake.NewClientset(), modes[:2] // it serves no claims
	}
	for i := range c.modes {
		c.modes[i] = histories.OneOf(rng, modes...)
	}
	if c.api == nil || rng.IntN(2) == 0 {
		c.logs = t.TempDir()
	}
	c.write("stat", "btime 1700000000\n")
	return c
}

func (c *cluster) next() int { c.serial++; return c.serial }

// hex returns n in this many hexadecimal digits. No two numbers have the same first digits.
func hex(n, digits int) string { return fmt.Sprintf("%04x%0*x", n, digits-4, n) }

// create starts a pod. It replaces one of the same name.
func (c *cluster) create() string {
	n := c.next()
	h := hex(n, 32)
	p := &pod{name: fmt.Sprint("pod-", c.rng.IntN(5)), uid: h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]}
	if i := slices.IndexFunc(c.pods, func(o *pod) bool { return o.name == p.name }); i >= 0 {
		c.remove(i)
	}
	for i := range 1 + c.rng.IntN(2) {
		member := &container{pod: p, name: fmt.Sprint("c", i), id: hex(c.next(), 64)}
		p.containers = append(p.containers, member)
	}
	c.pods = append(c.pods, p)
	for _, member := range p.containers {
		for range c.rng.IntN(3) {
			c.allocate(member)
		}
	}
	c.publish(p)
	return p.name
}

// allocate gives a container a device, if one is free.
func (c *cluster) allocate(target *container) {
	position := histories.OneOf(c.rng, c.gpus.places()...)
	id, claim := c.gpus.id(position), c.modes[position.gpu] == "claims"
	switch {
	case len(target.devices) > 0 && target.claimed != claim:
		return
	case c.modes[position.gpu] == "exclusive" && c.isAllocated(id):
		return
	case c.modes[position.gpu] == "replicas":
		id = fmt.Sprint(id, "::", c.rng.IntN(16))
	}
	target.devices, target.claimed = append(target.devices, id), claim
}

// isAllocated reports whether a container holds a device.
func (c *cluster) isAllocated(id string) bool {
	return slices.ContainsFunc(c.pods, func(p *pod) bool {
		return slices.ContainsFunc(p.containers, func(member *container) bool { return slices.Contains(member.devices, id) })
	})
}

// publish makes the API server and the kubelet's log files show a pod.
func (c *cluster) publish(p *pod) {
	if c.logs != "" {
		c.unlog(p)
		for _, member := range p.containers {
			target := filepath.Join(c.logs, "pods", "ml_"+p.name+"_"+p.uid, member.name, "0.log")
			require.NoError(c.t, os.MkdirAll(filepath.Dir(target), 0o750))
			link := filepath.Join(c.logs, "containers", p.name+"_ml_"+member.name+"-"+member.id+".log")
			require.NoError(c.t, os.MkdirAll(filepath.Dir(link), 0o750))
			require.NoError(c.t, os.Symlink(target, link))
		}
	}
	if c.api == nil {
		return
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: p.name, UID: types.UID(p.uid)},
		Spec:       corev1.PodSpec{NodeName: "node-a"},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	for _, member := range p.containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: member.name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: member.name, ContainerID: "containerd://" + member.id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	c.show(func() {
		pods := c.api.CoreV1().Pods("ml")
		if _, err := pods.Update(c.t.Context(), pod, metav1.UpdateOptions{}); err == nil {
			return
		}
		_, err := pods.Create(c.t.Context(), pod, metav1.CreateOptions{})
		require.NoError(c.t, err)
	})
}

// show makes the API server show an object, now or later.
func (c *cluster) show(update func()) {
	c.late = append(c.late, update)
	if c.rng.IntN(3) > 0 {
		c.catchUp()
	}
}

func (c *cluster) catchUp() {
	for _, update := range c.late {
		update()
	}
	c.late = nil
}

func (c *cluster) unlog(p *pod) {
	for _, member := range p.containers {
		links, err := filepath.Glob(filepath.Join(c.logs, "containers", p.name+"_ml_"+member.name+"-*.log"))
		require.NoError(c.t, err)
		for _, link := range links {
			require.NoError(c.t, os.Remove(link))
		}
	}
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.logs, "pods", "ml_"+p.name+"_"+p.uid)))
}

// remove ends a pod. Its processes may be stuck in the driver for a while.
func (c *cluster) remove(i int) string {
	p := c.pods[i]
	c.pods = slices.Delete(c.pods, i, i+1)
	if c.logs != "" {
		c.unlog(p)
	}
	if c.api != nil {
		c.show(func() { _ = c.api.CoreV1().Pods("ml").Delete(c.t.Context(), p.name, metav1.DeleteOptions{}) })
	}
	if c.rng.IntN(4) > 0 {
		c.end(func(o *gpuProcess) bool { return o.container != nil && o.container.pod == p })
	}
	return p.name
}

// resources returns the kubelet's pod resources.
func (c *cluster) resources() []*podresourcesv1.PodResources {
	var all []*podresourcesv1.PodResources
	for _, p := range c.pods {
		var containers []*podresourcesv1.ContainerResources
		for _, member := range p.containers {
			if !member.claimed {
				containers = append(containers, kubelettest.Container(member.name, "nvidia.com/gpu", member.devices...))
				continue
			}
			all := &podresourcesv1.ContainerResources{Name: member.name}
			for i, id := range member.devices {
				one := kubelettest.Claimed(member.name, fmt.Sprint("claim-", id), "gpu.nvidia.com", fmt.Sprint("gpu-", i), "k8s.gpu.nvidia.com/claim="+id)
				all.DynamicResources = append(all.DynamicResources, one.DynamicResources...)
			}
			containers = append(containers, all)
		}
		all = append(all, kubelettest.Pod(p.name, containers...))
	}
	return all
}

// steps are the possible events of pods and processes.
func (c *cluster) steps() []histories.Step {
	return []histories.Step{
		{Name: "pod created", Weight: 2, Do: c.create},
		{Name: "pod removed", Weight: 2, Do: c.onPods(func() string { return c.remove(c.rng.IntN(len(c.pods))) })},
		{Name: "container restarted", Weight: 1, Do: c.onPods(func() string {
			p := histories.OneOf(c.rng, c.pods...)
			member := histories.OneOf(c.rng, p.containers...)
			c.end(func(o *gpuProcess) bool { return o.container == member })
			member.id = hex(c.next(), 64)
			c.publish(p)
			return p.name + " " + member.name
		})},
		{Name: "process started", Weight: 3, Do: c.onPods(func() string {
			return c.run(histories.OneOf(c.rng, histories.OneOf(c.rng, c.pods...).containers...))
		})},
		{Name: "service started", Weight: 1, Do: func() string { return c.run(nil) }},
		{Name: "process ended", Weight: 1, Do: c.onProcesses(func(p *gpuProcess) {
			c.end(func(o *gpuProcess) bool { return o == p })
		})},
		{Name: "process without details", Weight: 1, Do: c.onProcesses(c.hide)},
		{Name: "API server catches up", Weight: 1, Do: func() string { c.catchUp(); return "" }},
	}
}

// onPods changes the pods, or creates the first.
func (c *cluster) onPods(do func() string) func() string {
	return func() string {
		if len(c.pods) == 0 {
			return c.create()
		}
		return do()
	}
}

// onProcesses changes one of the processes, if there is one.
func (c *cluster) onProcesses(do func(*gpuProcess)) func() string {
	return func() string {
		if len(c.processes) == 0 {
			return "none"
		}
		p := histories.OneOf(c.rng, c.processes...)
		do(p)
		return strconv.Itoa(p.pid)
	}
}
