// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/deviceid"
	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const claimSpec = `cdiVersion: 0.6.0
kind: k8s.%s/device
devices:
- name: gpu-0-mig-1g10gb-19-0
  containerEdits: {deviceNodes: [{path: /dev/nvidia0}, {path: /dev/nvidia-caps/nvidia-cap12}]}
- name: gpu-1
  containerEdits: {deviceNodes: [{path: /dev/nvidia1}]}
- name: claim-gpu-2-129
  containerEdits: {deviceNodes: [{path: /dev/kfd}, {path: /dev/dri/card2}, {path: /dev/dri/renderD129}]}
`

// Devices of dynamic resource allocation, identified in each way.
func TestDynamic(t *testing.T) {
	nvidia := []gpu.Device{device(0), mig(0, 1), mig(0, 2), device(1)}
	swapped := []gpu.Device{device(0), device(1)}
	swapped[0].Name, swapped[1].Name = "nvidia1", "nvidia0"
	tests := []struct {
		name           string
		devices        []gpu.Device
		driver, device string
		cdi            []string
		want           []string
		known          bool
	}{
		{"UUID in the CDI name", nvidia, deviceid.DriverNVIDIA, "gpu-x", []string{"nvidia.com/gpu=" + uuid(1)}, []string{uuid(1)}, true},
		{"CDI file, MIG", nvidia, deviceid.DriverNVIDIA, "gpu-0-mig-1g10gb-19-0", []string{"k8s.gpu.nvidia.com/device=gpu-0-mig-1g10gb-19-0"}, []string{migUUID(2)}, true},
		{"CDI file, GPU and claim", nvidia, deviceid.DriverNVIDIA, "gpu-1", []string{"k8s.gpu.nvidia.com/device=gpu-1", "k8s.gpu.nvidia.com/claim=c-gpu-1"}, []string{uuid(1)}, true},
		{"CDI file, AMD partition", amdGPU(), deviceid.DriverAMD, "gpu-2-129", []string{"k8s.gpu.amd.com/gpu=common", "k8s.gpu.amd.com/device=claim-gpu-2-129"}, []string{"0123456789abcdef/1"}, true},
		{"ResourceSlice, UUID", nvidia, deviceid.DriverNVIDIA, "gpu-slice", nil, []string{migUUID(1)}, true},
		{"ResourceSlice, PCI address", nvidia, deviceid.DriverNVIDIA, "gpu-pci", nil, []string{uuid(1)}, true},
		{"ResourceSlice, partition at its GPU's address", amdGPU(), deviceid.DriverAMD, "partition", nil, nil, false},
		{"name, NVIDIA", nvidia, deviceid.DriverNVIDIA, "gpu-1", nil, []string{uuid(1)}, true},
		{"name, AMD", amdGPU(), deviceid.DriverAMD, "gpu-2-129", nil, []string{"0123456789abcdef/1"}, true},
		{"name, index and node differ", swapped, deviceid.DriverNVIDIA, "gpu-1", nil, nil, false},
		{"MIG by name alone", nvidia, deviceid.DriverNVIDIA, "gpu-0-mig-19-4-1", nil, nil, false},
		{"a name of another form", nvidia, deviceid.DriverNVIDIA, "zero", nil, nil, false},
		{"AMD name of another form", amdGPU(), deviceid.DriverAMD, "gpu-2", nil, nil, false},
		{"another driver", nvidia, "dra.net", "gpu-1", nil, nil, true},
		{"another vendor", nvidia, deviceid.DriverAMD, "gpu-2-129", nil, nil, true},
		{"passed through", nvidia, deviceid.DriverNVIDIA, "gpu-vfio-0", nil, nil, true},
		{"no GPU driver of the vendor", nvidia, "compute-domain.nvidia.com", "channel-0", nil, nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t, nil, podOf(train))
			m.file(m.cdi, "nvidia.yaml", fmt.Sprintf(claimSpec, deviceid.DriverNVIDIA))
			m.file(m.cdi, "amd.yaml", fmt.Sprintf(claimSpec, deviceid.DriverAMD))
			m.file(m.minorsDir(), "mig-minors", "gpu0/gi2/access 11\ngpu0/gi2/ci0/access 12\n")
			m.clients.Dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{sliceResource: "ResourceSliceList"}, resourceSlice(deviceid.DriverNVIDIA), resourceSlice(deviceid.DriverAMD))
			m.serveSlices()
			m.start()
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "claim", tt.driver, tt.device, tt.cdi...)))
			node := m.apply(nodeOf(append([]gpu.Device(nil), tt.devices...)...))
			var holders []string
			for _, u := range node.Containers {
				holders = append(holders, u.DeviceID)
				assert.Equal(t, gpu.AllocatorDRA, u.Allocator)
				assert.Equal(t, tt.driver, u.Resource)
				assert.Equal(t, gpu.SharingExclusive, u.Sharing)
			}
			assert.Equal(t, tt.want, holders)
			assert.Equal(t, tt.known, node.Devices[len(node.Devices)-1].HoldersKnown)
			if tt.known {
				require.Empty(t, node.Problems)
			} else {
				require.Len(t, node.Problems, 1)
				require.ErrorContains(t, node.Problems[0].Err, tt.driver+" device n1/"+tt.device)
			}
		})
	}
}

// A kubelet that starts deletes the ResourceSlices of its node, until the drivers publish them again. The devices of a claim stay known.
func TestDynamicSliceGone(t *testing.T) {
	m := newMachine(t, nil, podOf(train))
	slices := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{sliceResource: "ResourceSliceList"}, resourceSlice(deviceid.DriverNVIDIA))
	m.clients.Dynamic = slices
	m.serveSlices()
	m.start()
	claim := func(name string) {
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, name, deviceid.DriverNVIDIA, "gpu-pci")))
	}
	holders := func() int { return len(m.apply(nodeOf(device(0), device(1)), 10).Devices[1].Holders) }
	claim("first")
	require.Equal(t, 1, holders())

	watched(t, &slices.Fake, sliceResource.Resource)
	name := resourceSlice(deviceid.DriverNVIDIA).GetName()
	require.NoError(t, slices.Resource(sliceResource).Delete(t.Context(), name, metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return m.attributor.view.Slices.Device(deviceid.DriverNVIDIA, "n1", "gpu-pci") == nil },
		time.Minute, time.Millisecond)
	assert.Equal(t, 1, holders())
	claim("second")
	assert.Zero(t, holders(), "it may be another device now")
	claim("first")
	assert.Zero(t, holders(), "it was given back in between")
}

// A device plugin and dynamic resource allocation on one node, and one claim of several containers.
func TestPluginAndDynamic(t *testing.T) {
	m := newMachine(t, noAPI).start()
	both := kubelettest.Claimed(helper.name, "shared", deviceid.DriverNVIDIA, "gpu-1")
	both.Devices = []*podresourcesv1.ContainerDevices{{ResourceName: resource, DeviceIds: []string{uuid(0)}}}
	m.kubelet.Set(
		kubelettest.Pod(train.pod, both, kubelettest.Claimed(train.name, "shared", deviceid.DriverNVIDIA, "gpu-1")),
		kubelettest.Pod(infer.pod, kubelettest.Claimed(infer.name, "own", deviceid.DriverNVIDIA, "gpu-2")))
	node := m.apply(nodeOf(device(0), device(1), device(2)))
	require.Empty(t, node.Problems)
	require.Len(t, node.Containers, 4)
	u := use(t, node, helper.named(), uuid(0))
	assert.Equal(t, gpu.AllocatorDevicePlugin, u.Allocator)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
	for _, c := range []testContainer{helper, train} {
		u := use(t, node, c.named(), uuid(1))
		assert.Equal(t, gpu.AllocatorDRA, u.Allocator)
		assert.Equal(t, gpu.SharingClaim, u.Sharing)
	}
	u = use(t, node, infer.named(), uuid(2))
	assert.Equal(t, gpu.AllocatorDRA, u.Allocator)
	assert.Equal(t, gpu.SharingExclusive, u.Sharing)
}

// A CDI file that cannot be read is reported, and the rest is still read.
func TestDynamicOddFile(t *testing.T) {
	m := newMachine(t, noAPI).start()
	m.file(m.cdi, "broken.json", "{")
	m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Claimed(train.name, "c", deviceid.DriverNVIDIA, "gpu-1")))
	node := m.apply(nodeOf(device(0), device(1)))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "CDI", node.Problems[0].What)
	use(t, node, train.named(), uuid(1))
}

var sliceResource = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceslices"}

// resourceSlice returns what a driver publishes for the node n1.
func resourceSlice(driver string) *unstructured.Unstructured {
	text := func(pairs ...string) map[string]any {
		attributes := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			attributes[pairs[i]] = map[string]any{"string": pairs[i+1]}
		}
		return attributes
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
		"metadata": map[string]any{"name": driver},
		"spec": map[string]any{
			"driver": driver, "nodeName": "n1", "pool": map[string]any{"name": "n1", "generation": int64(1)},
			"devices": []any{
				map[string]any{"name": "gpu-slice", "attributes": text("uuid", migUUID(1), "type", "mig")},
				map[string]any{"name": "gpu-pci", "attributes": text("resource.kubernetes.io/pciBusID", "0000:11:00.0", "type", "gpu")},
				map[string]any{"name": "partition", "attributes": text("resource.kubernetes.io/pciBusID", "0000:1b:00.0", "type", "amdgpu-partition")},
			},
		},
	}}
}
