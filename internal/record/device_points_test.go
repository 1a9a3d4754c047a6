// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// hw.gpu.info names the node of a GPU, also if resources are dropped: the node's name, otherwise the host's.
func TestInfoNamesTheNode(t *testing.T) {
	for name, c := range map[string]struct {
		host gpu.Host
		want map[string]any
	}{
		"a node of a cluster": {gpu.Host{Name: "machine", NodeName: "node-a", ClusterName: "prod"}, attrs("k8s.node.name", "node-a", "k8s.cluster.name", "prod")},
		"a machine":           {gpu.Host{Name: "machine"}, attrs("host.name", "machine")},
		"unknown":             {gpu.Host{}, attrs()},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecorder(everything())
			points := otlptest.Points(r.Record(&gpu.Node{Time: readAt, Host: c.host, Devices: []gpu.Device{{ID: gpuID}}}))
			all := otlptest.Of(points, "hw.gpu.info")
			require.Len(t, all, 1)
			c.want["hw.id"] = gpuID
			assert.Equal(t, c.want, all[0].Attributes)
		})
	}
}

// Each part of the identity of a device can change between reads.
func TestIdentityThatChanges(t *testing.T) {
	r := newRecorder(everything())
	d := gpu.Device{
		ID: migID, Name: "nvidia0", Model: "H100", Parent: gpuID, Vendor: gpu.NVIDIA, Info: gpu.Info{DriverVersion: "570"},
		XIDs: []gpu.XIDCount{{XID: 79, Count: gpu.TotalSince[int64](1, since)}},
	}
	info := func() map[string]any {
		all := otlptest.Of(otlptest.Points(r.Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{d}})), "hw.gpu.info")
		require.Len(t, all, 1)
		return all[0].Attributes
	}
	want := attrs("hw.id", migID, "hw.name", "nvidia0", "hw.model", "H100", "hw.parent", gpuID, "hw.vendor", "NVIDIA", "hw.driver_version", "570")
	assert.Equal(t, want, info())
	assert.Equal(t, want, info(), "attributes of its errors are not attributes of the device")
	d.Name = "nvidia1"
	want["hw.name"] = "nvidia1"
	assert.Equal(t, want, info())
	d.Model = "H200"
	want["hw.model"] = "H200"
	assert.Equal(t, want, info())
	d.Parent = "GPU-other"
	want["hw.parent"] = "GPU-other"
	assert.Equal(t, want, info())
	d.Vendor = gpu.AMD
	want["hw.vendor"] = "AMD"
	assert.Equal(t, want, info())
	d.Info.DriverVersion = "580"
	want["hw.driver_version"] = "580"
	assert.Equal(t, want, info())
}

// Without any of its attributes a device has no hw.gpu.board.info.
func TestNoBoardInfo(t *testing.T) {
	device := gpu.Device{ID: gpuID, Name: "nvidia0", Model: "H100", Info: gpu.Info{DriverVersion: "570"}}
	points := otlptest.Points(newRecorder(everything()).Record(&gpu.Node{Time: readAt, Devices: []gpu.Device{device}}))
	assert.Empty(t, otlptest.Of(points, "hw.gpu.board.info"))
}
