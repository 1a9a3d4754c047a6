// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const gib = 1 << 30

// card returns the n-th GPU, with 24 GiB.
func card(n int) gpu.Device {
	d := device(n)
	d.Memory = gpu.Memory{Limit: gpu.Some[int64](24 * gib), Usage: gpu.Some[int64](9 * gib)}
	return d
}

// asking adds a container to a pod's specification, which requests some of a resource.
func asking(pod *corev1.Pod, name, resource string, count int) {
	c := corev1.Container{Name: name}
	if count > 0 {
		c.Resources.Limits = corev1.ResourceList{corev1.ResourceName(resource): *quantity.NewQuantity(int64(count), quantity.DecimalSI)}
	}
	pod.Spec.Containers = append(pod.Spec.Containers, c)
}

// annotated returns a pod whose containers each request a device of a resource.
func annotated(resource string, annotations map[string]string, containers ...testContainer) *corev1.Pod {
	pod := podOf(containers...)
	pod.Annotations = annotations
	for _, c := range containers {
		asking(pod, c.name, resource, 1)
	}
	return pod
}

func vgpuText(n, mib, cores int) string { return fmt.Sprintf("%s,NVIDIA,%d,%d:", uuid(n), mib, cores) }

// The kubelet lists a slot of GPU 0 for each container. What the annotation says takes precedence.
func TestAnnotationsOfParts(t *testing.T) {
	const hami, volcano = "hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new"
	slot := func(n int) string { return fmt.Sprintf("%s-%d", uuid(0), n) }
	type part struct {
		holder       testContainer
		device       int
		share, limit float64 // limit in GiB
	}
	for name, tt := range map[string]struct {
		resource string
		pod      *corev1.Pod
		slots    []string // of the containers of the pod that the kubelet lists, in their order
		want     []part
	}{
		"HAMi": {
			resource, annotated(resource, map[string]string{hami: vgpuText(1, 6144, 0) + ";"}, train),
			[]string{slot(3)},
			[]part{{train, 1, 6.0 / 24, 6}},
		},
		"HAMi: two containers, one with two GPUs": {
			resource, annotated(resource, map[string]string{hami: vgpuText(1, 6144, 0) + vgpuText(0, 6144, 0) + ";" + vgpuText(1, 3072, 50) + ";"}, train, helper),
			[]string{slot(3), slot(4)},
			[]part{{train, 0, 6.0 / 24, 6}, {train, 1, 6.0 / 24, 6}, {helper, 1, 0.5, 3}},
		},
		"HAMi: the first container has none": {
			resource, func() *corev1.Pod {
				pod := podOf(train, helper)
				pod.Annotations = map[string]string{hami: ";" + vgpuText(1, 6144, 0) + ";"}
				asking(pod, train.name, resource, 0)
				asking(pod, helper.name, resource, 1)
				return pod
			}(), []string{"", slot(3)}, []part{{helper, 1, 6.0 / 24, 6}},
		},
		"HAMi: an init container comes first": {
			resource, func() *corev1.Pod {
				pod := initPod(resource, "1", "1")
				pod.Annotations = map[string]string{hami: vgpuText(0, 12288, 0) + ";" + vgpuText(1, 6144, 0) + ";"}
				return pod
			}(), []string{slot(3)}, []part{{train, 1, 6.0 / 24, 6}},
		},
		"HAMi: older versions have no entries of init containers": {
			resource, func() *corev1.Pod {
				pod := initPod(resource, "1", "1")
				pod.Annotations = map[string]string{hami: vgpuText(1, 6144, 0) + ";"}
				return pod
			}(), []string{slot(3)}, []part{{train, 1, 6.0 / 24, 6}},
		},
		"Volcano has entries only of containers that request": {
			"volcano.sh/vgpu-number", func() *corev1.Pod {
				pod := podOf(train, helper)
				pod.Annotations = map[string]string{volcano: vgpuText(1, 6144, 25)}
				asking(pod, train.name, "volcano.sh/vgpu-number", 0)
				asking(pod, helper.name, "volcano.sh/vgpu-number", 1)
				return pod
			}(), []string{"", slot(3)}, []part{{helper, 1, 6.0 / 24, 6}},
		},
		"gpushare: of each container its own request": {
			"aliyun.com/gpu-mem", func() *corev1.Pod {
				pod := podOf(train, helper)
				pod.Annotations = map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "1", "ALIYUN_COM_GPU_MEM_POD": "9", "ALIYUN_COM_GPU_MEM_DEV": "24"}
				asking(pod, train.name, "aliyun.com/gpu-mem", 6)
				asking(pod, helper.name, "aliyun.com/gpu-mem", 3)
				return pod
			}(), []string{uuid(0) + "-_-5", uuid(0) + "-_-6"}, []part{{train, 1, 6.0 / 24, 6}, {helper, 1, 3.0 / 24, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, nil, tt.pod).start()
			listed := []testContainer{train, helper}
			var containers []*podresourcesv1.ContainerResources
			for i, slot := range tt.slots {
				if slot != "" {
					containers = append(containers, kubelettest.Container(listed[i].name, tt.resource, slot))
				}
			}
			m.kubelet.Set(kubelettest.Pod(train.pod, containers...))
			node := m.apply(nodeOf(card(0), card(1)))
			var got []part
			for i := range node.Devices {
				for _, h := range node.Devices[i].Holders {
					u := use(t, node, h.Container, uuid(i))
					assert.Equal(t, gpu.Some(true), u.Allocated)
					assert.Equal(t, gpu.SharingFraction, u.Sharing)
					assert.Equal(t, tt.resource, u.Resource)
					share, ok := u.Share.Get()
					assert.True(t, ok)
					limit, _ := u.MemoryLimit.Get()
					got = append(got, part{testContainer{h.Container.PodName, h.Container.Name}, i, share, float64(limit) / gib})
				}
				assert.True(t, node.Devices[i].HoldersComplete)
			}
			assert.ElementsMatch(t, tt.want, got)
		})
	}
}

// If the annotation is not trustworthy, or not understood, it has no effect.
func TestAnnotationsThatDoNotCount(t *testing.T) {
	hami := map[string]string{"hami.io/vgpu-devices-allocated": vgpuText(1, 6144, 0) + ";"}
	slot := uuid(0) + "-3"
	for name, tt := range map[string]struct {
		pod    *corev1.Pod
		id     string
		change func(*Config)
	}{
		"no right to read the API":        {annotated(resource, hami, train), slot, noAPI},
		"two entries for one container":   {annotated(resource, map[string]string{"hami.io/vgpu-devices-allocated": vgpuText(1, 1, 0) + ";" + vgpuText(1, 1, 0)}, train), slot, nil},
		"malformed":                       {annotated(resource, map[string]string{"hami.io/vgpu-devices-allocated": "GPU-1,NVIDIA;"}, train), slot, nil},
		"the name of a MIG slot":          {annotated(resource, map[string]string{"hami.io/vgpu-devices-allocated": uuid(1) + "[0-1],NVIDIA,4864,0:;"}, train), slot, nil},
		"the GPU of MIG instances":        {annotated(resource, map[string]string{"hami.io/vgpu-devices-allocated": vgpuText(2, 4864, 0) + ";"}, train), slot, nil},
		"another container requests them": {annotated("hami.io/other", hami, train), slot, nil},
		"gpushare without all it needs":   {annotated("aliyun.com/gpu-mem", map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "1"}, train), slot, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, tt.change, tt.pod).start()
			resourceName := resource
			if name == "gpushare without all it needs" {
				resourceName = "aliyun.com/gpu-mem"
			}
			m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resourceName, tt.id)))
			node := m.apply(nodeOf(card(0), card(1), card(2), mig(2, 1)))
			for i := range node.Devices {
				assert.Empty(t, node.Devices[i].Holders)
				assert.False(t, node.Devices[i].HoldersKnown)
			}
			require.Len(t, node.Problems, 1)
			assert.ErrorContains(t, node.Problems[0].Err, "does not identify one of the GPUs")
		})
	}
	t.Run("a whole GPU stays whole", func(t *testing.T) {
		m := newMachine(t, nil, annotated(resource, hami, train)).start()
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, uuid(0))))
		node := m.apply(nodeOf(card(0), card(1)))
		u := use(t, node, train.joined(), uuid(0))
		assert.Equal(t, gpu.SharingExclusive, u.Sharing)
		assert.False(t, u.Share.Known())
		assert.Equal(t, gpu.Some[int64](24*gib), u.MemoryLimit)
		assert.Empty(t, node.Devices[1].Holders)
	})
	t.Run("a GPU that is not there", func(t *testing.T) {
		m := newMachine(t, nil, annotated(resource, map[string]string{"hami.io/vgpu-devices-allocated": vgpuText(7, 6144, 0) + ";"}, train)).start()
		m.kubelet.Set(kubelettest.Pod(train.pod, kubelettest.Container(train.name, resource, slot)))
		node := m.apply(nodeOf(card(0)))
		assert.True(t, node.Devices[0].HoldersKnown, "the annotation says that it is another GPU")
		assert.Empty(t, node.Devices[0].Holders)
	})
}
