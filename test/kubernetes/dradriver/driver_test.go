// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	registrationv1 "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/cdi"
	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
)

func TestParseDevice(t *testing.T) {
	d, err := parseDevice("gpu-6=GPU-a,minor=6")
	require.NoError(t, err)
	assert.Equal(t, device{"gpu-6", "GPU-a", 6}, d)
	d, err = parseDevice("board=GPU-b")
	require.NoError(t, err)
	assert.Equal(t, device{"board", "GPU-b", -1}, d)
	for _, wrong := range []string{"", "a", "a=", "=b", "a=b,c", "a=b,minor=", "a=b,minor=-1"} {
		_, err := parseDevice(wrong)
		require.Error(t, err, wrong)
	}
}

func dial(t *testing.T, path string) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return conn
}

func TestDriver(t *testing.T) {
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: "c", UID: "u"},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Request: "r", Driver: "gpu.nvidia.com", Pool: "n1", Device: "gpu-6"},
				{Request: "r", Driver: "gpu.nvidia.com", Pool: "n1", Device: "board"},
				{Request: "r", Driver: "other.example.com", Pool: "n1", Device: "x"},
			}},
		}},
	}
	client := fake.NewClientset(claim)
	dir := t.TempDir()
	d := &driver{
		name: "gpu.nvidia.com", node: "n1", kubelet: filepath.Join(dir, "kubelet"), cdi: filepath.Join(dir, "cdi"),
		devices: []device{{"gpu-6", "GPU-a", 6}, {"board", "GPU-b", -1}}, api: client.ResourceV1(),
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	require.Eventually(t, func() bool {
		list, err := client.ResourceV1().ResourceSlices().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 1 && len(list.Items[0].Spec.Devices) == 2
	}, time.Minute, 10*time.Millisecond)

	registration := registrationv1.NewRegistrationClient(dial(t, filepath.Join(d.kubelet, "plugins_registry", "gpu.nvidia.com-reg.sock")))
	info, err := registration.GetInfo(t.Context(), &registrationv1.InfoRequest{})
	require.NoError(t, err)
	assert.Equal(t, "DRAPlugin", info.Type)
	_, err = registration.NotifyRegistrationStatus(t.Context(), &registrationv1.RegistrationStatus{PluginRegistered: true})
	require.NoError(t, err)

	plugin := drav1.NewDRAPluginClient(dial(t, info.Endpoint))
	claims := []*drav1.Claim{{Namespace: "ml", Name: "c", Uid: "u"}, {Namespace: "ml", Name: "c", Uid: "older"}}
	prepared, err := plugin.NodePrepareResources(t.Context(), &drav1.NodePrepareResourcesRequest{Claims: claims})
	require.NoError(t, err)
	assert.NotEmpty(t, prepared.Claims["older"].Error)
	require.Len(t, prepared.Claims["u"].Devices, 2)

	registry, nodes := cdi.New([]string{d.cdi}), deviceid.NewDeviceNodes(filepath.Join(dir, "none"))
	require.NoError(t, registry.Refresh())
	assert.Equal(t, []string{"nvidia6"}, nodes.Keys(registry.DeviceNodes(prepared.Claims["u"].Devices[0].CdiDeviceIds[0])))
	assert.Empty(t, nodes.Keys(registry.DeviceNodes(prepared.Claims["u"].Devices[1].CdiDeviceIds[0])))

	unprepared, err := plugin.NodeUnprepareResources(t.Context(), &drav1.NodeUnprepareResourcesRequest{Claims: claims})
	require.NoError(t, err)
	assert.Empty(t, unprepared.Claims["u"].Error)
	assert.NoFileExists(t, d.cdiFile("u"))
}

func TestNothingToOffer(t *testing.T) {
	require.Error(t, start(t.Context(), &driver{}, ""))
}
