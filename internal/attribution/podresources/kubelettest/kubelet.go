// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kubelettest is the PodResources API of a kubelet for tests: a real gRPC server on a Unix socket that can be stopped, started
// again, slowed down and made to fail.
package kubelettest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet serves the PodResources API.
type Kubelet struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
	t      testing.TB
	socket string

	mu     sync.Mutex
	server *grpc.Server
	pods   []*podresourcesv1.PodResources
	err    error
	hang   bool
	calls  int
}

// New returns a kubelet that is not running yet.
func New(t testing.TB) *Kubelet {
	t.Helper()
	// Not t.TempDir: its path may be too long for a socket.
	directory, err := os.MkdirTemp("", "kubelet") //nolint:usetesting // see above
	require.NoError(t, err)
	k := &Kubelet{t: t, socket: filepath.Join(directory, "kubelet.sock")}
	t.Cleanup(func() {
		k.Stop()
		_ = os.RemoveAll(directory)
	})
	return k
}

// Endpoint returns the endpoint of its API.
func (k *Kubelet) Endpoint() string { return "unix://" + k.socket }

// Socket returns the path of its socket.
func (k *Kubelet) Socket() string { return k.socket }

// Start starts the kubelet with a start time an hour ago.
func (k *Kubelet) Start() {
	k.t.Helper()
	k.StartAt(time.Now().Add(-time.Hour))
}

// StartAt starts the kubelet with a start time.
func (k *Kubelet) StartAt(then time.Time) {
	k.t.Helper()
	listener, err := net.Listen("unix", k.socket) //nolint:noctx // a test's
	require.NoError(k.t, err)
	require.NoError(k.t, os.Chtimes(k.socket, then, then))
	server := grpc.NewServer()
	podresourcesv1.RegisterPodResourcesListerServer(server, k)
	k.mu.Lock()
	k.server = server
	k.mu.Unlock()
	go func() { _ = server.Serve(listener) }()
}

// Stop kills the kubelet: connections break, and the socket is removed.
func (k *Kubelet) Stop() {
	k.mu.Lock()
	server := k.server
	k.server = nil
	k.mu.Unlock()
	if server != nil {
		server.Stop()
	}
	_ = os.Remove(k.socket)
}

// Set sets the allocations.
func (k *Kubelet) Set(pods ...*podresourcesv1.PodResources) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.pods = pods
}

// Fail makes every call fail with err, until it is called with nil.
func (k *Kubelet) Fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.err = err
}

// Hang makes every call hang until its caller gives up.
func (k *Kubelet) Hang(hang bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hang = hang
}

// Calls returns the number of calls.
func (k *Kubelet) Calls() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// List implements the API.
func (k *Kubelet) List(ctx context.Context, _ *podresourcesv1.ListPodResourcesRequest) (*podresourcesv1.ListPodResourcesResponse, error) {
	k.mu.Lock()
	k.calls++
	hang, err := k.hang, k.err
	response := &podresourcesv1.ListPodResourcesResponse{PodResources: k.pods}
	k.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return response, err
}

// Pod returns a pod of the namespace ml with containers.
func Pod(name string, containers ...*podresourcesv1.ContainerResources) *podresourcesv1.PodResources {
	return &podresourcesv1.PodResources{Namespace: "ml", Name: name, Containers: containers}
}

// PodIn returns a pod of another namespace.
func PodIn(namespace, name string, containers ...*podresourcesv1.ContainerResources) *podresourcesv1.PodResources {
	pod := Pod(name, containers...)
	pod.Namespace = namespace
	return pod
}

// Container returns a container with devices of a device plugin, each listed by itself.
func Container(name, resource string, ids ...string) *podresourcesv1.ContainerResources {
	c := &podresourcesv1.ContainerResources{Name: name}
	for _, id := range ids {
		c.Devices = append(c.Devices, &podresourcesv1.ContainerDevices{ResourceName: resource, DeviceIds: []string{id}})
	}
	return c
}

// Claimed returns a container with a claim of a device of the pool n1.
func Claimed(name, claim, driver, device string, cdi ...string) *podresourcesv1.ContainerResources {
	resource := &podresourcesv1.ClaimResource{DriverName: driver, PoolName: "n1", DeviceName: device}
	for _, name := range cdi {
		resource.CdiDevices = append(resource.CdiDevices, &podresourcesv1.CDIDevice{Name: name})
	}
	return &podresourcesv1.ContainerResources{Name: name, DynamicResources: []*podresourcesv1.DynamicResource{{
		ClaimNamespace: "ml", ClaimName: claim, ClaimResources: []*podresourcesv1.ClaimResource{resource},
	}}}
}
