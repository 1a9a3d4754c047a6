// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// kubelet queries the kubelet directly, as an independent check.
type kubelet struct {
	api podresourcesv1.PodResourcesListerClient
}

func newKubelet(t *testing.T, layout cluster.Layout) *kubelet {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+layout.Kubelet("pod-resources", "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return &kubelet{api: podresourcesv1.NewPodResourcesListerClient(conn)}
}

// list is what the kubelet answers.
func (k *kubelet) list() (*podresourcesv1.ListPodResourcesResponse, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return k.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{}, grpc.WaitForReady(true))
}

// dynamic are the devices of the driver.
var dynamic = map[string]string{"gpu-6": gpu(nodeGPU), "board-7": gpu(sliceGPU)}

// holds returns the holders that the kubelet reports, a line for each container and device.
func (k *kubelet) holds(t *testing.T) []string {
	t.Helper()
	response, err := k.list()
	require.NoError(t, err)
	var lines []string
	for _, pod := range response.PodResources {
		for _, container := range pod.Containers {
			add := func(resource, device string) {
				line := strings.Join([]string{pod.Namespace, pod.Name, container.Name, resource, device}, " ")
				if !slices.Contains(lines, line) {
					lines = append(lines, line)
				}
			}
			for _, devices := range container.Devices {
				for _, id := range devices.DeviceIds {
					device, _, _ := strings.Cut(id, "::")
					add(devices.ResourceName, device)
				}
			}
			for _, claims := range container.DynamicResources {
				for _, claim := range claims.ClaimResources {
					add(claim.DriverName, dynamic[claim.DeviceName])
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}
