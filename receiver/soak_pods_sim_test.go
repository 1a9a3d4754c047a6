// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
)

// soakPod is a pod with its containers.
type soakPod struct {
	name, uid  string
	containers []*soakContainer
}

type soakContainer struct {
	pod      *soakPod
	name, id string
	held     []string // what the kubelet calls what it was given
	claimed  bool
}

// soakCluster is what runs on the machine.
type soakCluster struct {
	t       *testing.T
	rng     *rand.Rand
	machine *soakMachine
	kubelet *kubelettest.Kubelet
	api     *fake.Clientset // nil: it may not be read
	proc    string
	logs    string // empty: they may not be read
	modes   [soaked]string

	pods      []*soakPod
	processes []*soakProcess
	serial    int
	late      []func() // what the API server tells later
}

func newSoakCluster(t *testing.T, rng *rand.Rand, machine *soakMachine) *soakCluster {
	t.Helper()
	c := &soakCluster{t: t, rng: rng, machine: machine, kubelet: kubelettest.New(t), proc: t.TempDir()}
	modes := []string{"exclusive", "replicas", "claims"}
	if rng.IntN(3) > 0 {
		c.api, modes = fake.NewClientset(), modes[:2] // it serves no claims
	}
	for i := range c.modes {
		c.modes[i] = oneOf(rng, modes...)
	}
	if c.api == nil || rng.IntN(2) == 0 {
		c.logs = t.TempDir()
	}
	c.write("stat", "btime 1700000000\n")
	return c
}

func (c *soakCluster) next() int { c.serial++; return c.serial }

// hex is n as so many hexadecimal digits, which no other number has the beginning of.
func hex(n, digits int) string { return fmt.Sprintf("%04x%0*x", n, digits-4, n) }

// create starts a pod, in place of one that has the same name.
func (c *soakCluster) create() {
	n := c.next()
	h := hex(n, 32)
	p := &soakPod{name: fmt.Sprint("pod-", c.rng.IntN(5)), uid: h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]}
	if i := slices.IndexFunc(c.pods, func(o *soakPod) bool { return o.name == p.name }); i >= 0 {
		c.remove(i)
	}
	for i := range 1 + c.rng.IntN(2) {
		made := &soakContainer{pod: p, name: fmt.Sprint("c", i), id: hex(c.next(), 64)}
		p.containers = append(p.containers, made)
	}
	c.pods = append(c.pods, p)
	for _, made := range p.containers {
		for range c.rng.IntN(3) {
			c.allocate(made)
		}
	}
	c.publish(p)
}

// allocate gives a container a device, if there is one to be had.
func (c *soakCluster) allocate(to *soakContainer) {
	at := oneOf(c.rng, c.machine.places()...)
	id, claim := c.machine.id(at), c.modes[at.gpu] == "claims"
	switch {
	case len(to.held) > 0 && to.claimed != claim:
		return
	case c.modes[at.gpu] == "exclusive" && c.held(id):
		return
	case c.modes[at.gpu] == "replicas":
		id = fmt.Sprint(id, "::", c.rng.IntN(16))
	}
	to.held, to.claimed = append(to.held, id), claim
}

// held tells whether a container has a device.
func (c *soakCluster) held(id string) bool {
	return slices.ContainsFunc(c.pods, func(p *soakPod) bool {
		return slices.ContainsFunc(p.containers, func(made *soakContainer) bool { return slices.Contains(made.held, id) })
	})
}

// publish has the API server, or the kubelet's log files, tell of a pod.
func (c *soakCluster) publish(p *soakPod) {
	if c.logs != "" {
		c.unlog(p)
		for _, made := range p.containers {
			target := filepath.Join(c.logs, "pods", "ml_"+p.name+"_"+p.uid, made.name, "0.log")
			require.NoError(c.t, os.MkdirAll(filepath.Dir(target), 0o750))
			link := filepath.Join(c.logs, "containers", p.name+"_ml_"+made.name+"-"+made.id+".log")
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
	for _, made := range p.containers {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: made.name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: made.name, ContainerID: "containerd://" + made.id, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	c.tell(func() {
		pods := c.api.CoreV1().Pods("ml")
		if _, err := pods.Update(c.t.Context(), pod, metav1.UpdateOptions{}); err == nil {
			return
		}
		_, err := pods.Create(c.t.Context(), pod, metav1.CreateOptions{})
		require.NoError(c.t, err)
	})
}

// tell has the API server tell something now, or later.
func (c *soakCluster) tell(what func()) {
	c.late = append(c.late, what)
	if c.rng.IntN(3) > 0 {
		c.catchUp()
	}
}

func (c *soakCluster) catchUp() {
	for _, what := range c.late {
		what()
	}
	c.late = nil
}

func (c *soakCluster) unlog(p *soakPod) {
	for _, made := range p.containers {
		links, err := filepath.Glob(filepath.Join(c.logs, "containers", p.name+"_ml_"+made.name+"-*.log"))
		require.NoError(c.t, err)
		for _, link := range links {
			require.NoError(c.t, os.Remove(link))
		}
	}
	require.NoError(c.t, os.RemoveAll(filepath.Join(c.logs, "pods", "ml_"+p.name+"_"+p.uid)))
}

// remove ends a pod. Its processes may be stuck in the driver for a while.
func (c *soakCluster) remove(i int) {
	p := c.pods[i]
	c.pods = slices.Delete(c.pods, i, i+1)
	if c.logs != "" {
		c.unlog(p)
	}
	if c.api != nil {
		c.tell(func() { _ = c.api.CoreV1().Pods("ml").Delete(c.t.Context(), p.name, metav1.DeleteOptions{}) })
	}
	if c.rng.IntN(4) > 0 {
		c.end(func(o *soakProcess) bool { return o.container != nil && o.container.pod == p })
	}
}

// resources are what the kubelet tells.
func (c *soakCluster) resources() []*podresourcesv1.PodResources {
	var all []*podresourcesv1.PodResources
	for _, p := range c.pods {
		var containers []*podresourcesv1.ContainerResources
		for _, made := range p.containers {
			if !made.claimed {
				containers = append(containers, kubelettest.Container(made.name, "nvidia.com/gpu", made.held...))
				continue
			}
			all := &podresourcesv1.ContainerResources{Name: made.name}
			for i, id := range made.held {
				one := kubelettest.Claimed(made.name, fmt.Sprint("claim-", id), "gpu.nvidia.com", fmt.Sprint("gpu-", i), "k8s.gpu.nvidia.com/claim="+id)
				all.DynamicResources = append(all.DynamicResources, one.DynamicResources...)
			}
			containers = append(containers, all)
		}
		all = append(all, kubelettest.Pod(p.name, containers...))
	}
	return all
}

// change changes one thing of what runs.
func (c *soakCluster) change() string {
	what := c.rng.IntN(12)
	switch {
	case what < 2 || len(c.pods) == 0:
		c.create()
	case what < 4:
		c.remove(c.rng.IntN(len(c.pods)))
	case what == 4: // a container is restarted
		p := oneOf(c.rng, c.pods...)
		made := oneOf(c.rng, p.containers...)
		c.end(func(o *soakProcess) bool { return o.container == made })
		made.id = hex(c.next(), 64)
		c.publish(p)
	case what < 8:
		c.run(oneOf(c.rng, oneOf(c.rng, c.pods...).containers...))
	case what == 8:
		c.run(nil)
	case what == 9 && len(c.processes) > 0:
		p := oneOf(c.rng, c.processes...)
		c.end(func(o *soakProcess) bool { return o == p })
	case what == 10 && len(c.processes) > 0: // nothing of it can be told
		c.hide(oneOf(c.rng, c.processes...))
	case what == 11:
		c.catchUp()
	}
	return fmt.Sprint("pods: ", what)
}
