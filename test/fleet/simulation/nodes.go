// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	leaseNamespace = "kube-node-lease"
	// leaseRenewal and leaseDuration are the kubelet's.
	leaseRenewal  = 10 * time.Second
	leaseDuration = int32(40)
	workers       = 16
)

// Nodes act as kubelets: they register Nodes, renew their Leases, and report that the pods bound to them run.
type Nodes struct {
	Client     kubernetes.Interface
	Count      int
	GPUs       int
	Address    string // of Execs, for all of them
	Port       int32
	WorkloadNS string // the namespace of the pods that use the GPUs

	mu        sync.Mutex // guards what follows
	machines  map[string]*Machine
	pods      map[string]string // node by namespace/name
	workloads map[string]Workload
	running   atomic.Int64
	failed    atomic.Int64
}

// Name is the name of a node.
func Name(i int) string { return fmt.Sprintf("gpu-node-%04d", i) }

// Find returns the machine on which a pod runs, and whose processes are on its GPUs.
func (n *Nodes) Find(namespace, pod string) (*Machine, Workload) {
	n.mu.Lock()
	defer n.mu.Unlock()
	node := n.pods[namespace+"/"+pod]
	return n.machines[node], n.workloads[node]
}

// Running returns the number of pods that were reported as running.
func (n *Nodes) Running() int64 { return n.running.Load() }

// Failed returns the number of failed calls to the API server.
func (n *Nodes) Failed() int64 { return n.failed.Load() }

// each calls a function for all nodes, with limited concurrency.
func (n *Nodes) each(do func(i int) error) error {
	var mu sync.Mutex
	var errs []error
	next := make(chan int)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for i := range n.Count {
		next <- i
	}
	close(next)
	working.Wait()
	if len(errs) > 10 {
		errs = append(errs[:10], fmt.Errorf("and %d more", len(errs)-10))
	}
	return errors.Join(errs...)
}

// Register makes the Nodes.
func (n *Nodes) Register(ctx context.Context) error {
	n.mu.Lock()
	n.machines, n.pods, n.workloads = make(map[string]*Machine), make(map[string]string), make(map[string]Workload)
	for i := range n.Count {
		n.machines[Name(i)] = &Machine{Number: i, GPUs: n.GPUs}
	}
	n.mu.Unlock()
	return n.each(func(i int) error {
		node := n.node(i)
		if _, err := n.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
		patch, err := json.Marshal(map[string]any{"status": node.Status})
		if err != nil {
			return err
		}
		_, err = n.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
}

func (n *Nodes) node(i int) *corev1.Node {
	now := metav1.Now()
	capacity := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("192"), corev1.ResourceMemory: resource.MustParse("2Ti"), corev1.ResourcePods: resource.MustParse("110"),
		"nvidia.com/gpu": *resource.NewQuantity(int64(n.GPUs), resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: Name(i), Labels: map[string]string{
			"kubernetes.io/hostname": Name(i), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
			"node.kubernetes.io/instance-type": "p5.48xlarge", "topology.kubernetes.io/zone": fmt.Sprintf("zone-%c", 'a'+rune(i%3)),
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": strconv.Itoa(n.GPUs), "nvidia.com/gpu.memory": "81559",
		}},
		Status: corev1.NodeStatus{
			Capacity: capacity, Allocatable: capacity,
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.Address}, {Type: corev1.NodeHostName, Address: Name(i)}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: n.Port}},
			NodeInfo:        corev1.NodeSystemInfo{KubeletVersion: "v1.35.0", OperatingSystem: "linux", Architecture: "amd64"},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
}

// Run renews the Leases and starts pods, until the context ends.
func (n *Nodes) Run(ctx context.Context) {
	factory := informers.NewSharedInformerFactory(n.Client, 0)
	pods := factory.Core().V1().Pods().Informer()
	started := make(chan *corev1.Pod, 10*n.Count)
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { n.take(ctx, object, started) }, UpdateFunc: func(_, object any) { n.take(ctx, object, started) },
	})
	if err != nil {
		log.Print(err)
		return
	}
	var working sync.WaitGroup
	defer working.Wait()
	for range workers {
		working.Go(func() {
			for {
				select {
				case <-ctx.Done():
					return
				case pod := <-started:
					n.run(ctx, pod)
				}
			}
		})
	}
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	// Each node has its own offset in the interval, as in a real fleet.
	leases := make([]lease, n.Count)
	ticker := time.NewTicker(leaseRenewal / time.Duration(n.Count))
	defer ticker.Stop()
	for i := 0; ; i = (i + 1) % n.Count {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		working.Go(func() { n.renew(ctx, i, &leases[i]) })
	}
}

// take starts a pod that is bound to one of the nodes.
func (n *Nodes) take(ctx context.Context, object any, started chan<- *corev1.Pod) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	n.mu.Lock()
	_, ours := n.machines[pod.Spec.NodeName]
	if ours {
		n.pods[pod.Namespace+"/"+pod.Name] = pod.Spec.NodeName
		if pod.Namespace == n.WorkloadNS {
			n.workloads[pod.Spec.NodeName] = Workload{PodUID: string(pod.UID), ContainerID: containerID(pod)}
		}
	}
	n.mu.Unlock()
	if ours && pod.Status.Phase == corev1.PodPending {
		select {
		case started <- pod:
		case <-ctx.Done():
		}
	}
}

// containerID is the ID of a pod's only container.
func containerID(pod *corev1.Pod) string {
	hash := pod.UID
	digits := make([]byte, 0, 64)
	for len(digits) < 64 {
		for i := range len(hash) {
			if hash[i] != '-' && len(digits) < 64 {
				digits = append(digits, hash[i])
			}
		}
	}
	return string(digits)
}

func (n *Nodes) run(ctx context.Context, pod *corev1.Pod) {
	now := metav1.Now()
	status := corev1.PodStatus{Phase: corev1.PodRunning, StartTime: &now, PodIP: n.Address, HostIP: n.Address}
	for _, condition := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: condition, Status: corev1.ConditionTrue, LastTransitionTime: now})
	}
	for i := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image, Ready: true, ContainerID: "containerd://" + containerID(pod),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err == nil {
		_, err = n.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	}
	if err != nil {
		n.failed.Add(1)
		return
	}
	n.running.Add(1)
}

// lease is the lease of a node, as it was last written.
type lease struct {
	mu  sync.Mutex
	now *coordinationv1.Lease
}

func (n *Nodes) renew(ctx context.Context, i int, l *lease) {
	if !l.mu.TryLock() {
		return // the last renewal is outstanding
	}
	defer l.mu.Unlock()
	name, now, duration := Name(i), metav1.NowMicro(), leaseDuration
	leases := n.Client.CoordinationV1().Leases(leaseNamespace)
	var written *coordinationv1.Lease
	var err error
	if l.now == nil {
		written, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &duration, RenewTime: &now},
		}, metav1.CreateOptions{})
	} else {
		changed := l.now.DeepCopy()
		changed.Spec.RenewTime = &now
		written, err = leases.Update(ctx, changed, metav1.UpdateOptions{})
	}
	if err != nil {
		if ctx.Err() == nil {
			n.failed.Add(1)
		}
		return
	}
	l.now = written
}
