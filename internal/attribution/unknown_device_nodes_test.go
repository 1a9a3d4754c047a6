// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// GPUs with unknown device nodes, which may differ from their indices: an allocation by device node matches no GPU rather than the wrong
// one. One by UUID is found.
func TestDeviceNodesThatAreNotKnown(t *testing.T) {
	unnamed := []gpu.Device{device(0), mig(0, 1), device(1)}
	for i := range unnamed {
		unnamed[i].Name = ""
	}
	swapped := []gpu.Device{device(0), device(1)}
	swapped[0].Name, swapped[1].Name = "nvidia1", "nvidia0"
	for name, tt := range map[string]struct {
		devices []gpu.Device
		id      string
		want    []string
	}{
		"node":          {unnamed, "nvidia1", nil},
		"shared":        {unnamed, "nvidia1/vgpu0", nil},
		"MIG instance":  {unnamed, "nvidia0/gi1", nil},
		"UUID":          {unnamed, uuid(1), []string{uuid(1)}},
		"node is known": {swapped, "nvidia1", []string{uuid(0)}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train)).start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, tt.id)))
			node := m.apply(nodeOf(append([]gpu.Device(nil), tt.devices...)...))
			var holders []string
			for _, u := range node.Containers {
				holders = append(holders, u.DeviceID)
			}
			assert.Equal(t, tt.want, holders)
			assert.Equal(t, tt.want != nil, node.Devices[0].HoldersKnown, "it is unknown whether a container has a GPU")
			if tt.want != nil {
				require.Empty(t, node.Problems)
				return
			}
			require.Len(t, node.Problems, 1)
			require.ErrorContains(t, node.Problems[0].Err, resource+" device "+tt.id)
		})
	}
}
