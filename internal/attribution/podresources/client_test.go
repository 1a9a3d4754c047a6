// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func newClient(t *testing.T, endpoint string) *Client {
	t.Helper()
	client, err := New(endpoint)
	require.NoError(t, err)
	client.Timeout = time.Minute // no test is about a slow machine
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	return client
}

func TestList(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Start()
	share := "s1"
	kubelet.Set(
		kubelettest.Pod("none", &podresourcesv1.ContainerResources{Name: "main"}),
		kubelettest.Pod("plugin",
			kubelettest.Container("a", "nvidia.com/gpu", "GPU-1", "GPU-2", "GPU-1"), // on two NUMA nodes
			kubelettest.Container("b", "amd.com/gpu", "0000:1b:00.0"),
			&podresourcesv1.ContainerResources{Name: "both", Devices: []*podresourcesv1.ContainerDevices{
				{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"0"}}, {ResourceName: "amd.com/gpu", DeviceIds: []string{"0"}},
			}}),
		&podresourcesv1.PodResources{Namespace: "ml", Name: "several", Containers: []*podresourcesv1.ContainerResources{{
			Name:    "c",
			Devices: []*podresourcesv1.ContainerDevices{{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-3", "GPU-4"}}},
			DynamicResources: []*podresourcesv1.DynamicResource{{
				ClaimNamespace: "ml", ClaimName: "claim",
				ClaimResources: []*podresourcesv1.ClaimResource{{
					DriverName: "gpu.nvidia.com", PoolName: "n1", DeviceName: "gpu-0", ShareId: &share,
					CdiDevices: []*podresourcesv1.CDIDevice{{Name: "k8s.gpu.nvidia.com/device=gpu-0"}},
				}},
			}},
		}}},
	)
	got, err := newClient(t, kubelet.Endpoint()).List(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Allocation{
		{Namespace: "ml", Pod: "plugin", Container: "a", Resource: "nvidia.com/gpu", ID: "GPU-1"},
		{Namespace: "ml", Pod: "plugin", Container: "a", Resource: "nvidia.com/gpu", ID: "GPU-2"},
		{Namespace: "ml", Pod: "plugin", Container: "b", Resource: "amd.com/gpu", ID: "0000:1b:00.0"},
		{Namespace: "ml", Pod: "plugin", Container: "both", Resource: "nvidia.com/gpu", ID: "0"},
		{Namespace: "ml", Pod: "plugin", Container: "both", Resource: "amd.com/gpu", ID: "0"},
		{Namespace: "ml", Pod: "several", Container: "c", Resource: "nvidia.com/gpu", ID: "GPU-3"},
		{Namespace: "ml", Pod: "several", Container: "c", Resource: "nvidia.com/gpu", ID: "GPU-4"},
		{Namespace: "ml", Pod: "several", Container: "c", Dynamic: &Dynamic{
			ClaimNamespace: "ml", Claim: "claim", Driver: "gpu.nvidia.com", Pool: "n1", Device: "gpu-0", Share: "s1",
			CDI: []string{"k8s.gpu.nvidia.com/device=gpu-0"},
		}},
	}, got.Allocations)
	assert.Equal(t, 3, got.Pods)
	assert.EqualValues(t, 1, got.Connection)
	path, err := SocketPath(kubelet.Endpoint())
	require.NoError(t, err)
	socket, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, socket.ModTime(), got.Started)
}

// Kubelets list with each device of a claim the CDI devices of those before it as well.
func TestListClaimOfSeveral(t *testing.T) {
	device := func(driver, name string, cdi ...string) *podresourcesv1.ClaimResource {
		claimed := &podresourcesv1.ClaimResource{DriverName: driver, PoolName: "n1", DeviceName: name}
		for _, id := range cdi {
			claimed.CdiDevices = append(claimed.CdiDevices, &podresourcesv1.CDIDevice{Name: id})
		}
		return claimed
	}
	tests := []struct {
		name    string
		devices []*podresourcesv1.ClaimResource
		want    [][]string
	}{
		{"one more each", []*podresourcesv1.ClaimResource{
			device("d", "a", "k=a"), device("d", "b", "k=a", "k=b"), device("d", "c", "k=a", "k=b", "k=c1", "k=c2"),
		}, [][]string{{"k=a"}, {"k=b"}, {"k=c1", "k=c2"}}},
		{"each its own", []*podresourcesv1.ClaimResource{device("d", "a", "k=a"), device("d", "b", "k=b")}, [][]string{{"k=a"}, {"k=b"}}},
		{"the claim's for all", []*podresourcesv1.ClaimResource{device("d", "a", "k=x"), device("d", "b", "k=x")}, [][]string{{"k=x"}, {"k=x"}}},
		{"of another driver", []*podresourcesv1.ClaimResource{device("d", "a", "k=a"), device("e", "b", "k=a", "k=b")}, [][]string{{"k=a"}, {"k=a", "k=b"}}},
		{"more, but others", []*podresourcesv1.ClaimResource{device("d", "a", "k=a"), device("d", "b", "k=b", "k=c")}, [][]string{{"k=a"}, {"k=b", "k=c"}}},
		{"none before", []*podresourcesv1.ClaimResource{device("d", "a"), device("d", "b", "k=b")}, [][]string{nil, {"k=b"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			response := &podresourcesv1.ListPodResourcesResponse{PodResources: []*podresourcesv1.PodResources{{
				Containers: []*podresourcesv1.ContainerResources{{
					DynamicResources: []*podresourcesv1.DynamicResource{{ClaimName: "c", ClaimResources: tt.devices}},
				}},
			}}}
			var got [][]string
			for _, a := range allocations(response) {
				got = append(got, a.Dynamic.CDI)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// After the kubelet was restarted at the same path, the next call finds it.
func TestListKubeletRestart(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Set(kubelettest.Pod("p", kubelettest.Container("a", "nvidia.com/gpu", "GPU-1")))
	client := newClient(t, kubelet.Endpoint())

	_, err := client.List(t.Context())
	require.ErrorIs(t, err, syscall.ENOENT)
	require.ErrorContains(t, err, "mount the kubelet's directory")

	for n := range 3 {
		kubelet.Start()
		for range 2 {
			got, err := client.List(t.Context())
			require.NoError(t, err)
			assert.Len(t, got.Allocations, 1)
			assert.EqualValues(t, n+1, got.Connection, "one connection for each kubelet")
		}

		kubelet.Stop()
		_, err = client.List(t.Context())
		require.ErrorIs(t, err, syscall.ENOENT)
	}

	// Restarted between two calls: the first one after it meets a broken connection.
	kubelet.Start()
	_, err = client.List(t.Context())
	require.NoError(t, err)
	kubelet.Stop()
	kubelet.Start()
	_, err = client.List(t.Context())
	require.NoError(t, err)
}

func TestListWithoutListeners(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Start()
	// A socket that a killed kubelet has left behind.
	stale := filepath.Join(filepath.Dir(kubelet.Socket()), "stale.sock")
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrUnix{Name: stale}))
	require.NoError(t, syscall.Close(fd))
	_, err = newClient(t, "unix://"+stale).List(t.Context())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.ErrorContains(t, err, "not running")
}

func TestListNotAllowed(t *testing.T) {
	if os.Getuid() == 0 {
		// Root is never refused: the error of dialing is injected.
		client := newClient(t, "unix:///nonexistent/kubelet.sock")
		err := client.explain(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.EACCES)})
		require.ErrorIs(t, err, syscall.EACCES)
		require.ErrorContains(t, err, "run as user 0")
		return
	}
	kubelet := kubelettest.New(t)
	kubelet.Start()
	require.NoError(t, os.Chmod(kubelet.Socket(), 0))
	_, err := newClient(t, kubelet.Endpoint()).List(t.Context())
	require.ErrorContains(t, err, "run as user 0")
}

func TestListSlow(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Start()
	kubelet.Hang(true)
	client := newClient(t, kubelet.Endpoint())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := client.List(ctx)
	require.ErrorContains(t, err, "did not answer in time")
	kubelet.Hang(false)
	_, err = client.List(t.Context())
	require.NoError(t, err)
}

func TestListRefused(t *testing.T) {
	tests := map[codes.Code]string{
		codes.Unimplemented:     "Kubernetes 1.20",
		codes.ResourceExhausted: "calls per second",
		codes.Internal:          "boom",
		codes.Unavailable:       "boom",
	}
	kubelet := kubelettest.New(t)
	kubelet.Start()
	client := newClient(t, kubelet.Endpoint())
	for code, want := range tests {
		t.Run(code.String(), func(t *testing.T) {
			kubelet.Fail(status.Error(code, "boom"))
			_, err := client.List(t.Context())
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, kubelet.Socket())
		})
	}
}

func TestListTooLong(t *testing.T) {
	kubelet := kubelettest.New(t)
	kubelet.Start()
	kubelet.Set(kubelettest.Pod(strings.Repeat("x", maxMessage)))
	_, err := newClient(t, kubelet.Endpoint()).List(t.Context())
	require.ErrorContains(t, err, "16 MiB")
}

func TestListNoKubelet(t *testing.T) {
	// Something else listens there.
	kubelet := kubelettest.New(t)
	listenGarbage(t, kubelet.Socket())
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := newClient(t, kubelet.Endpoint()).List(ctx)
	require.ErrorContains(t, err, "pod_resources: list the allocated devices from "+kubelet.Socket())
}

func TestListClosed(t *testing.T) {
	client, err := New(DefaultEndpoint)
	require.NoError(t, err)
	require.NoError(t, client.Close())
	_, err = client.List(t.Context())
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestSocketPath(t *testing.T) {
	path, err := SocketPath(DefaultEndpoint)
	require.NoError(t, err)
	assert.Equal(t, "/var/lib/kubelet/pod-resources/kubelet.sock", path)
	for _, endpoint := range []string{"", "/var/lib/kubelet.sock", "unix://relative", "tcp://127.0.0.1:1"} {
		_, err := SocketPath(endpoint)
		require.ErrorContains(t, err, DefaultEndpoint, endpoint)
		_, err = New(endpoint)
		require.Error(t, err)
	}
}
