// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	pluginv1beta1 "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

func TestParseResource(t *testing.T) {
	r, err := parseResource("nvidia.com/gpu=GPU-a,GPU-b@0+1,GPU-c*2")
	require.NoError(t, err)
	assert.Equal(t, "nvidia.com/gpu", r.name)
	var ids []string
	for _, d := range r.devices {
		ids = append(ids, d.ID)
	}
	assert.Equal(t, []string{"GPU-a", "GPU-b", "GPU-c::0", "GPU-c::1"}, ids)
	assert.Nil(t, r.devices[0].Topology)
	assert.Len(t, r.devices[1].Topology.Nodes, 2)
	for _, wrong := range []string{"", "a", "a=", "=b", "a=b,", "a=b*", "a=b*0", "a=b@x", "a=*2"} {
		_, err := parseResource(wrong)
		require.Error(t, err, wrong)
	}
}

// kubelet is the side that plugins register with.
type kubelet struct {
	pluginv1beta1.UnimplementedRegistrationServer
	server     *grpc.Server
	registered chan *pluginv1beta1.RegisterRequest
}

func startKubelet(t *testing.T, dir string) *kubelet {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, "kubelet.sock"))
	require.NoError(t, err)
	k := &kubelet{server: grpc.NewServer(), registered: make(chan *pluginv1beta1.RegisterRequest, 1)}
	pluginv1beta1.RegisterRegistrationServer(k.server, k)
	go func() { _ = k.server.Serve(listener) }()
	t.Cleanup(k.server.Stop)
	return k
}

func (k *kubelet) Register(_ context.Context, request *pluginv1beta1.RegisterRequest) (*pluginv1beta1.Empty, error) {
	k.registered <- request
	return &pluginv1beta1.Empty{}, nil
}

// next returns the next registration.
func (k *kubelet) next(t *testing.T) *pluginv1beta1.RegisterRequest {
	t.Helper()
	select {
	case request := <-k.registered:
		return request
	case <-time.After(time.Minute):
		require.FailNow(t, "no registration")
		return nil
	}
}

func TestRegistersAgain(t *testing.T) {
	dir := t.TempDir()
	r, err := parseResource("example.com/gpu=a*2")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx, dir, []resource{r}) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})

	first := startKubelet(t, dir)
	assert.Equal(t, "example.com/gpu", first.next(t).ResourceName)

	// A kubelet that starts removes everything in the directory.
	first.server.Stop()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		_ = os.Remove(filepath.Join(dir, entry.Name()))
	}
	second := startKubelet(t, dir)
	request := second.next(t)
	assert.Equal(t, "example.com/gpu", request.ResourceName)

	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, request.Endpoint), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	client := pluginv1beta1.NewDevicePluginClient(conn)
	stream, err := client.ListAndWatch(t.Context(), &pluginv1beta1.Empty{})
	require.NoError(t, err)
	list, err := stream.Recv()
	require.NoError(t, err)
	require.Len(t, list.Devices, 2)
	answer, err := client.Allocate(t.Context(), &pluginv1beta1.AllocateRequest{
		ContainerRequests: []*pluginv1beta1.ContainerAllocateRequest{{DevicesIds: []string{"a::1"}}},
	})
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"NVIDIA_VISIBLE_DEVICES": "a"}, answer.ContainerResponses[0].Envs)
}

func TestNothingToOffer(t *testing.T) {
	require.Error(t, run(t.Context(), t.TempDir(), nil))
}
