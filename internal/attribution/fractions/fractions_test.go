// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const gib = 1024 * mib

func some(share float64) gpu.Opt[float64] { return gpu.Some(share) }

// The shares are calculated by hand for a GPU of 24 GiB. kai.go, vgpu.go and gpushare.go cite more of the sources.
func TestParts(t *testing.T) {
	const memory = 24 * gib
	tenant := func(annotations ...string) Part {
		return ParseTenant(pairs(annotations...)).Part(gpu.Some[int64](memory))
	}
	vgpu := func(key, value string, factor int64) Part {
		containers, ok := VGPUs(pairs(key, value), factor)
		if !ok {
			return Part{}
		}
		return containers[0][0].Part(gpu.Some[int64](memory))
	}
	gpushare := func(units int64, index, pod, device string) Part {
		share, ok := ParseGPUShare(pairs(gpushareIndex, index, gpusharePod, pod, gpushareDevice, device), units, units)
		if !ok {
			return Part{}
		}
		return share.Part(gpu.Some[int64](memory))
	}
	const (
		kai         = "https://github.com/kai-scheduler/KAI-Scheduler/blob/1e8934bf63833cf841d90270a2950e99c3c949e1/docs/gpu-sharing/README.md"
		nvFractions = "https://github.com/kai-scheduler/KAI-Scheduler/blob/253c8275d1c7a3a0376222dd5b420560561e7f00/pkg/common/resources/gpu_sharing_nvfractions.go"
		hami        = "https://github.com/Project-HAMi/HAMi/blob/12b5870bb630aef3151afa8d41dec39336057540/docs/develop/protocol.md"
		volcano     = "https://github.com/volcano-sh/volcano/blob/011c6dc6da1bea92eabfebf8faf56ffe5339fbdd/pkg/scheduler/api/devices/nvidia/vgpu/utils.go"
		aliyun      = "https://github.com/AliyunContainerService/gpushare-scheduler-extender/blob/105a36439a50a6320ccaf4d4f2f969702d438798/pkg/utils/pod.go"
	)
	for name, tt := range map[string]struct {
		source    string // of the form
		got, want Part
	}{
		"KAI: gpu-fraction":                       {kai, tenant("gpu-fraction", "0.25"), Part{Share: some(0.25)}},
		"KAI: gpu-memory is in MiB":               {kai, tenant("gpu-memory", "6144"), Part{Share: some(6.0 / 24)}},
		"KAI: two GPUs, of each as much":          {kai, tenant("gpu-fraction", "0.5", "gpu-fraction-num-devices", "2"), Part{Share: some(0.5)}},
		"KAI: the request of a container":         {nvFractions, tenant("nvidia.com/container.main.gpu-memory.request", "3Gi"), Part{Share: some(3.0 / 24)}},
		"KAI: a limit is the request as well":     {nvFractions, tenant("nvidia.com/container.main.gpu-memory.limit", "12Gi"), Part{Share: some(0.5), MemoryLimit: gpu.Some[int64](12 * gib)}},
		"KAI: a request and a larger limit":       {nvFractions, tenant("nvidia.com/container.main.gpu-memory.request", "6Gi", "nvidia.com/container.main.gpu-memory.limit", "12Gi"), Part{Share: some(0.25), MemoryLimit: gpu.Some[int64](12 * gib)}},
		"KAI: what it writes from the fraction":   {nvFractions, tenant("gpu-fraction", "0.3", "nvidia.com/container.main.gpu-memory.request", "7372Mi"), Part{Share: some(0.3)}},
		"KAI: more than the GPU has":              {kai, tenant("gpu-memory", "24577"), Part{}},
		"KAI: a fraction of 1 is none":            {kai, tenant("gpu-fraction", "1"), Part{}},
		"KAI: not a number":                       {kai, tenant("gpu-fraction", "NaN"), Part{}},
		"KAI: negative":                           {kai, tenant("gpu-fraction", "-0.5", "gpu-memory", "-1"), Part{}},
		"KAI: no annotation":                      {kai, tenant(), Part{}},
		"HAMi: no limit of cores":                 {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072,0:;", 1), Part{some(3.0 / 24), gpu.Some[int64](3 * gib)}},
		"HAMi: more cores than memory":            {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072,30:;", 1), Part{some(0.3), gpu.Some[int64](3 * gib)}},
		"HAMi: all cores are the GPU":             {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072,100:;", 1), Part{some(1), gpu.Some[int64](3 * gib)}},
		"HAMi: memory that was scaled up":         {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,30720,50:;", 1), Part{MemoryLimit: gpu.Some[int64](30 * gib)}},
		"HAMi: no memory":                         {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,0,50:;", 1), Part{}},
		"HAMi: malformed":                         {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072:;", 1), Part{}},
		"HAMi: more than all cores":               {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3072,101:;", 1), Part{}},
		"Volcano":                                 {volcano, vgpu(volcanoAnnotation, "GPU-bc94e532-1820-8ee8-ceaa-704166369c7c,NVIDIA,6144,0:", 1), Part{some(0.25), gpu.Some[int64](6 * gib)}},
		"Volcano: gpu-memory-factor=1024":         {volcano, vgpu(volcanoAnnotation, "GPU-bc94e532-1820-8ee8-ceaa-704166369c7c,NVIDIA,6,10:", 1024), Part{some(0.25), gpu.Some[int64](6 * gib)}},
		"HAMi has no factor":                      {hami, vgpu(hamiAnnotation, "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,6144,0:;", 1024), Part{some(0.25), gpu.Some[int64](6 * gib)}},
		"gpushare: units of GiB":                  {aliyun, gpushare(6, "1", "6", "23"), Part{some(6.0 / 23), gpu.Some[int64](6 * gib)}},
		"gpushare: units of MiB":                  {aliyun, gpushare(6144, "1", "6144", "24576"), Part{some(0.25), gpu.Some[int64](6 * gib)}},
		"gpushare: units of another GPU":          {aliyun, gpushare(6, "1", "6", "80"), Part{Share: some(6.0 / 80)}},
		"gpushare: no GPU":                        {aliyun, gpushare(6, "-1", "6", "23"), Part{}},
		"gpushare: more than the GPU has":         {aliyun, gpushare(24, "1", "24", "23"), Part{}},
		"gpushare: not what the pod requests":     {aliyun, gpushare(5, "1", "6", "23"), Part{}},
		"gpushare: a container without a request": {aliyun, gpushare(0, "1", "0", "23"), Part{}},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tt.want, tt.got, tt.source) })
	}
	t.Run("memory of the GPU not known", func(t *testing.T) {
		unknown := gpu.Opt[int64]{}
		assert.Equal(t, Part{Share: some(0.25)}, ParseTenant(pairs("gpu-fraction", "0.25")).Part(unknown))
		assert.Equal(t, Part{}, ParseTenant(pairs("gpu-memory", "6144")).Part(unknown))
		assert.Equal(t, Part{MemoryLimit: gpu.Some[int64](gib)}, VGPU{memory: gib, cores: 99}.Part(unknown))
		assert.Equal(t, Part{some(1), gpu.Some[int64](gib)}, VGPU{memory: gib, cores: 100}.Part(unknown))
		assert.Equal(t, Part{Share: some(0.5)}, GPUShare{units: 1, device: 2}.Part(unknown))
	})
}

func TestTenants(t *testing.T) {
	group, reserved := ReservedGroup(pairs("app", "kai-resource-reservation", "runai-gpu-group", "cfbcb444"))
	assert.Equal(t, "cfbcb444", group)
	assert.True(t, reserved)
	_, reserved = ReservedGroup(pairs("app", "kai-resource-reservation"))
	assert.False(t, reserved)

	assert.Equal(t, []string{"cfbcb444"}, Groups(pairs("runai-gpu-group", "cfbcb444", "app", "x")))
	assert.Equal(t, []string{"a26d17bc", "cfbcb444"}, Groups(pairs("runai-gpu-group/cfbcb444", "cfbcb444", "runai-gpu-group/a26d17bc", "a26d17bc")))
	assert.Empty(t, Groups(pairs("runai-gpu-group/cfbcb444", "other", "runai-gpu-group/", "")))

	assert.Empty(t, ParseTenant(pairs("gpu-fraction", "0.5")).Container, "the first")
	assert.Equal(t, "worker", ParseTenant(pairs("gpu-fraction", "0.5", "gpu-fraction-container-name", "worker")).Container)
	assert.Equal(t, "worker", ParseTenant(pairs("nvidia.com/container.worker.gpu-memory.request", "5Gi")).Container)
}

// Each container that has vGPUs has an entry; other containers have no entry, or an empty one.
func TestContainersOfVGPUs(t *testing.T) {
	const one, two = "GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448", "GPU-00552014-5c87-89ac-b1a6-7b53aa24b0ec"
	for value, want := range map[string][][]string{
		one + ",NVIDIA,3000,0:;" + one + ",NVIDIA,5000,0:;":                {{one}, {one}}, // HAMi's protocol.md
		";" + one + ",NVIDIA,3000,0:" + two + ",NVIDIA,3000,0:;;":          {{one, two}},
		one + ",NVIDIA,3000,50:" + two + ",NVIDIA,3000,50:":                {{one, two}}, // Volcano, one container
		one + ",NVIDIA,3000,50:;" + two + ",NVIDIA,3000,50:":               {{one}, {two}},
		",,0,0:;" + one + ",NVIDIA,3000,0:;":                               {{one}},
		one + ",NVIDIA,3000,0,a field that a later version has appended:;": {{one}},
		"":         nil,
		";":        nil,
		"nonsense": nil,
		one + ",NVIDIA,3000,0:;" + two + ",NVIDIA,x,0:;": nil,
	} {
		containers, ok := VGPUs(pairs(hamiAnnotation, value), 1)
		assert.Equal(t, want != nil, ok, value)
		var got [][]string
		for _, vgpus := range containers {
			var uuids []string
			for _, v := range vgpus {
				uuids = append(uuids, v.UUID)
			}
			got = append(got, uuids)
		}
		assert.Equal(t, want, got, value)
	}
	_, ok := VGPUs(pairs("hami.io/vgpu-devices-to-allocate", one+",NVIDIA,3000,0:;"), 1)
	assert.False(t, ok, "what is to be allocated is not allocated")
}

func TestIsKey(t *testing.T) {
	for _, key := range []string{
		"runai-gpu-group", "runai-gpu-group/cfbcb444", "gpu-fraction", "gpu-memory", "gpu-fraction-container-name",
		"nvidia.com/container.main.gpu-memory.request", "nvidia.com/container.main.gpu-memory.limit",
		"hami.io/vgpu-devices-allocated", "volcano.sh/vgpu-ids-new",
		"ALIYUN_COM_GPU_MEM_IDX", "ALIYUN_COM_GPU_MEM_POD", "ALIYUN_COM_GPU_MEM_DEV",
	} {
		assert.True(t, IsKey(key), key)
	}
	for _, key := range []string{
		"", "app", "runai-gpu-groups", "gpu-fraction-num-devices", "nvidia.com/container..gpu-memory.request",
		"nvidia.com/container.main.gpu-compute.mode", "hami.io/vgpu-devices-to-allocate", "kubectl.kubernetes.io/last-applied-configuration",
	} {
		assert.False(t, IsKey(key), key)
	}
}

func pairs(all ...string) map[string]string {
	m := make(map[string]string)
	for i := 0; i < len(all); i += 2 {
		m[all[i]] = all[i+1]
	}
	return m
}

func assertPart(t *testing.T, part Part) {
	t.Helper()
	if share, ok := part.Share.Get(); ok && (share <= 0 || share > 1 || math.IsNaN(share)) {
		t.Errorf("share %v", share)
	}
	if limit, ok := part.MemoryLimit.Get(); ok && limit <= 0 {
		t.Errorf("limit %v", limit)
	}
}

func FuzzVGPUs(f *testing.F) {
	f.Add("GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,3000,30:;GPU-0fc3eda5-e98b-a25b-5b0d-cf5c855d1448,NVIDIA,5000,0:;", int64(1))
	f.Add(",,0,0:;;", int64(1024))
	f.Fuzz(func(t *testing.T, value string, factor int64) {
		containers, ok := VGPUs(pairs(volcanoAnnotation, value), max(1, factor%1024))
		assert.Equal(t, ok, len(containers) > 0)
		for _, vgpus := range containers {
			assert.NotEmpty(t, vgpus)
			for _, v := range vgpus {
				assert.NotEmpty(t, v.UUID)
				assertPart(t, v.Part(gpu.Some[int64](80*gib)))
			}
		}
	})
}

func FuzzParseTenant(f *testing.F) {
	f.Add("0.5", "6144", "5Gi", "10Gi")
	f.Add("NaN", "-1", "1e99", "")
	f.Fuzz(func(t *testing.T, fraction, memory, request, limit string) {
		assertPart(t, ParseTenant(pairs(fractionAnnotation, fraction, memoryAnnotation, memory,
			"nvidia.com/container.main.gpu-memory.request", request, "nvidia.com/container.main.gpu-memory.limit", limit)).Part(gpu.Some[int64](80*gib)))
	})
}

func FuzzParseGPUShare(f *testing.F) {
	f.Add("0", "6", "23", int64(6))
	f.Fuzz(func(t *testing.T, index, pod, device string, units int64) {
		share, ok := ParseGPUShare(pairs(gpushareIndex, index, gpusharePod, pod, gpushareDevice, device), units, units)
		if ok {
			assert.NotEmpty(t, share.DeviceNode)
			assertPart(t, share.Part(gpu.Some[int64](80*gib)))
		}
	})
}
