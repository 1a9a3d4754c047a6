// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/attribution/fractions"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// tenantForm is the labels and annotations of a pod that has parts of the GPUs of reservation pods, each with 24 GiB.
type tenantForm struct {
	labels, annotations map[string]string
	groups              []string
	container           string // empty: the first
	want                fractions.Part
}

func (f tenantForm) check(t *testing.T) {
	assert.Equal(t, f.groups, fractions.Groups(f.labels))
	tenant := fractions.ParseTenant(f.annotations)
	assert.Equal(t, f.container, tenant.Container)
	assert.Equal(t, f.want, tenant.Part(gpu.Some[int64](24*gib)))
}

// vgpuForm is an annotation with the vGPUs of a pod's containers, of GPUs with 24 GiB.
type vgpuForm struct {
	key, value string
	uuids      []string // of all containers
	want       []fractions.Part
}

func (f vgpuForm) check(t *testing.T) {
	containers, ok := fractions.VGPUs(map[string]string{f.key: f.value}, 1)
	require.True(t, ok)
	var uuids []string
	var parts []fractions.Part
	for _, vgpus := range containers {
		for _, v := range vgpus {
			uuids, parts = append(uuids, v.UUID), append(parts, v.Part(gpu.Some[int64](24*gib)))
		}
	}
	assert.Equal(t, f.uuids, uuids)
	assert.Equal(t, f.want, parts)
}

// gpushareForm is the annotations of a pod with one container, on a GPU with 24 GiB.
type gpushareForm struct {
	annotations map[string]string
	units       int64 // that the container requests
	node        string
	want        fractions.Part
}

func (f gpushareForm) check(t *testing.T) {
	share, ok := fractions.ParseGPUShare(f.annotations, f.units, f.units)
	require.True(t, ok)
	assert.Equal(t, f.node, share.DeviceNode)
	assert.Equal(t, f.want, share.Part(gpu.Some[int64](24*gib)))
}

const (
	kaiSource     = "https://github.com/kai-scheduler/KAI-Scheduler/blob/00cf2baa2388d102a5f8c6cd4651514374880588/pkg/common/constants/constants.go"
	hamiSource    = "https://github.com/Project-HAMi/HAMi/blob/12b5870bb630aef3151afa8d41dec39336057540/docs/develop/protocol.md"
	volcanoSource = "https://github.com/volcano-sh/volcano/blob/011c6dc6da1bea92eabfebf8faf56ffe5339fbdd/pkg/scheduler/api/devices/nvidia/vgpu/utils.go"
	aliyunSource  = "https://github.com/AliyunContainerService/gpushare-scheduler-extender/blob/105a36439a50a6320ccaf4d4f2f969702d438798/pkg/utils/pod.go"
)

// partsPlatforms are the forms in which schedulers and device plugins write who has which part of a GPU.
var partsPlatforms = []platform{
	{"KAI, a fraction of a GPU", kaiSource, tenantForm{
		labels:      map[string]string{"runai-gpu-group": "cfbcb444-7a0a-4ab4-a5f9-68af822798b0"},
		annotations: map[string]string{"gpu-fraction": "0.5"},
		groups:      []string{"cfbcb444-7a0a-4ab4-a5f9-68af822798b0"},
		want:        fractions.Part{Share: gpu.Some(0.5)},
	}},
	{"KAI, memory in MiB, in a named container", kaiSource, tenantForm{
		labels:      map[string]string{"runai-gpu-group": "a"},
		annotations: map[string]string{"gpu-memory": "6144", "gpu-fraction-container-name": "worker"},
		groups:      []string{"a"}, container: "worker",
		want: fractions.Part{Share: gpu.Some(0.25)},
	}},
	{"KAI, fractions of two GPUs", kaiSource, tenantForm{
		labels:      map[string]string{"runai-gpu-group/a": "a", "runai-gpu-group/b": "b"},
		annotations: map[string]string{"gpu-fraction": "0.25", "gpu-fraction-num-devices": "2"},
		groups:      []string{"a", "b"},
		want:        fractions.Part{Share: gpu.Some(0.25)},
	}},
	{
		"KAI, memory of a container, limited",
		"https://github.com/kai-scheduler/KAI-Scheduler/blob/253c8275d1c7a3a0376222dd5b420560561e7f00/pkg/common/resources/gpu_sharing_nvfractions.go",
		tenantForm{
			labels: map[string]string{"runai-gpu-group": "a"},
			annotations: map[string]string{
				"nvidia.com/container.main.gpu-memory.request": "6Gi", "nvidia.com/container.main.gpu-memory.limit": "12Gi",
			},
			groups: []string{"a"}, container: "main",
			want: fractions.Part{Share: gpu.Some(0.25), MemoryLimit: gpu.Some[int64](12 * gib)},
		},
	},
	{"HAMi, two containers", hamiSource, vgpuForm{
		key:   "hami.io/vgpu-devices-allocated",
		value: "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072,0:;GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,6144,30:;",
		uuids: []string{"GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448", "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448"},
		want:  []fractions.Part{{Share: gpu.Some(0.125), MemoryLimit: gpu.Some[int64](3 * gib)}, {Share: gpu.Some(0.3), MemoryLimit: gpu.Some[int64](6 * gib)}},
	}},
	{"Volcano vGPU, one container with two GPUs", volcanoSource, vgpuForm{
		key:   "volcano.sh/vgpu-ids-new",
		value: "GPU-bc94e532-1820-8ee8-ceaa-704166369c7c,NVIDIA,3072,50:GPU-5beec879-79c9-6252-3aaa-9f5e146ba220,NVIDIA,3072,0:",
		uuids: []string{"GPU-bc94e532-1820-8ee8-ceaa-704166369c7c", "GPU-5beec879-79c9-6252-3aaa-9f5e146ba220"},
		want:  []fractions.Part{{Share: gpu.Some(0.5), MemoryLimit: gpu.Some[int64](3 * gib)}, {Share: gpu.Some(0.125), MemoryLimit: gpu.Some[int64](3 * gib)}},
	}},
	{"Aliyun gpushare, units of GiB", aliyunSource, gpushareForm{
		annotations: map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "1", "ALIYUN_COM_GPU_MEM_POD": "6", "ALIYUN_COM_GPU_MEM_DEV": "24"},
		units:       6, node: "nvidia1",
		want: fractions.Part{Share: gpu.Some(0.25), MemoryLimit: gpu.Some[int64](6 * gib)},
	}},
	{"Aliyun gpushare, units of MiB", aliyunSource, gpushareForm{
		annotations: map[string]string{"ALIYUN_COM_GPU_MEM_IDX": "0", "ALIYUN_COM_GPU_MEM_POD": "6144", "ALIYUN_COM_GPU_MEM_DEV": "24576"},
		units:       6144, node: "nvidia0",
		want: fractions.Part{Share: gpu.Some(0.25), MemoryLimit: gpu.Some[int64](6 * gib)},
	}},
}
