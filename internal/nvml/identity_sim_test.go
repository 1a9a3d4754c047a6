// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// identifying are the functions that say what a GPU is, and how a failure of each is reported.
var identifying = map[string]string{
	"nvmlDeviceGetName":                  "model",
	"nvmlDeviceGetMinorNumber":           "minor number",
	"nvmlDeviceGetSerial":                "serial number",
	"nvmlDeviceGetVbiosVersion":          "VBIOS version",
	"nvmlDeviceGetPciInfo":               "PCI address",
	"nvmlDeviceGetCudaComputeCapability": "compute capability",
	"nvmlDeviceGetGpuInstanceId":         "GPU instance",
	"nvmlDeviceGetComputeInstanceId":     "compute instance",
	"nvmlSystemGetDriverVersion":         "driver version",
}

// is is what identifies a device.
type is struct {
	id, name, model, parent string
	index                   gpu.Opt[int]
	info                    gpu.Info
	gi, ci                  gpu.Opt[int]
}

func whatTheyAre(n *gpu.Node) []is {
	all := make([]is, len(n.Devices))
	for i := range n.Devices {
		d := &n.Devices[i]
		all[i] = is{d.ID, d.Name, d.Model, d.Parent, d.Index, d.Info, d.GPUInstance, d.ComputeInstance}
	}
	return all
}

// If a call for the identity of a GPU failed once, it is repeated at the next read, and the instances of the GPU get the result too. Then
// no further calls are made.
func TestIdentifiedAtTheNextRead(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	var want []is
	t.Run("without a fault", func(t *testing.T) { want = whatTheyAre(start(t, partitioned).read()) })
	for function, value := range identifying {
		for _, ret := range []string{"UNKNOWN", "TIMEOUT", "NOT_READY"} {
			for _, keep := range []bool{true, false} {
				if function == "nvmlSystemGetDriverVersion" && !keep {
					continue // called for each session anyway
				}
				t.Run(fmt.Sprintf("%s %s %t", function, ret, keep), func(t *testing.T) {
					b := start(t, partitioned+"[fault f]\nfunction = "+function+"\nreturn = "+ret,
						func(c *Config) { c.KeepOpen = keep })
					n := b.read()
					require.NotEqual(t, want, whatTheyAre(n))
					assert.Equal(t, gpu.StateOK, gpuAt(t, n, 0).State())
					if ret == "NOT_READY" {
						assert.Empty(t, n.Problems, "nothing is wrong")
					} else {
						require.ErrorContains(t, problem(t, n, value).Err, function)
					}
					b.schedule(10, "[fault f]\npresent = false")
					n = b.read()
					assert.Equal(t, want, whatTheyAre(n))
					assert.Empty(t, n.Problems)
					b.schedule(20, "[fault f]\npresent = false")
					counters.Reset()
					n = b.read()
					assert.Equal(t, want, whatTheyAre(n))
					if function != "nvmlSystemGetDriverVersion" {
						assert.Zero(t, counters.Calls(function))
						assert.Zero(t, counters.Calls(function+"_v3"))
					}
				})
			}
		}
	}
}

// An instance whose place becomes known late gets what only an instance alone on its GPU instance can have.
func TestInstanceIdentifiedLate(t *testing.T) {
	b := start(t, partitioned+"[fault f]\nfunction = nvmlDeviceGetGpuInstanceId\nreturn = UNKNOWN")
	n := b.read()
	parent := gpuAt(t, n, 0).ID
	for i := range 3 {
		b.schedule(float64(10*(i+1)), "[fault f]\npresent = false")
		n = b.read()
	}
	assert.True(t, child(t, n, parent, 0).Pipes[gpu.PipeGraphics].Known())
	assert.False(t, child(t, n, parent, 1).Pipes[gpu.PipeGraphics].Known(), "it shares its place with another")
	assert.Empty(t, n.Problems)
}

// A call that the driver refuses is not repeated, and a call that keeps failing is repeated less and less often.
func TestWhatCannotBeIdentifiedIsLeftAlone(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	tests := map[string]struct {
		calls, problems int
	}{
		"NOT_SUPPORTED": {1, 0},
		"NO_PERMISSION": {1, 1},
		"UNKNOWN":       {5, 1}, // reads 0, 1, 5, 13 and 29
		"NOT_READY":     {5, 0},
	}
	for ret, tt := range tests {
		t.Run(ret, func(t *testing.T) {
			b := start(t, "gpus = 1\n[fault f]\nfunction = nvmlDeviceGetPciInfo\nreturn = "+ret)
			counters.Reset()
			for range 40 {
				n := b.read()
				assert.Len(t, n.Problems, tt.problems)
				assert.Empty(t, gpuAt(t, n, 0).Info.PCIAddress)
			}
			assert.Equal(t, uint64(tt.calls), counters.Calls("nvmlDeviceGetPciInfo_v3"))
		})
	}
}

// Another driver is queried again for the identity of a GPU. Values that it does not return stay as they were: without the name or the
// model, points would belong to other series. The instances have the new driver too.
func TestWhatIsKnownStaysWithAnotherDriver(t *testing.T) {
	b := start(t, partitioned)
	want := whatTheyAre(b.read())
	b.set("[fault f]\nkind = driver")
	b.read()
	var text strings.Builder
	text.WriteString("driver.version = 590.1\n")
	for function := range identifying {
		if function != "nvmlSystemGetDriverVersion" {
			text.WriteString("[fault " + function + "]\nfunction = " + function + "\nreturn = TIMEOUT\n")
		}
	}
	b.set(text.String())
	b.clock = b.clock.Add(time.Hour)
	n := b.read()
	for i := range want {
		want[i].info.DriverVersion = "590.1"
	}
	assert.Equal(t, want, whatTheyAre(n))
}

// A GPU that is lost while it is identified has that fault only.
func TestLostWhileIdentified(t *testing.T) {
	b := start(t, "gpus = 2\n[fault f]\ngpu = 1\nfunction = nvmlDeviceGetSerial\nreturn = UNKNOWN")
	b.read()
	b.set("[fault f]\ngpu = 1\nfunction = nvmlDeviceGetSerial\nreturn = GPU_IS_LOST")
	n := b.read()
	healthy(t, n, 2, 1)
	failed(t, n, 1, gpu.FaultLost)
	b.set("[fault f]\npresent = false")
	n = b.read()
	healthy(t, n, 2)
	assert.NotEmpty(t, gpuAt(t, n, 1).Info.Serial)
}

// A GPU whose address could not be read is not taken for another GPU that the kernel's driver has at that address.
func TestWithoutAnAddressItIsThereOnce(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	for name, information := range map[string]string{
		"UUID in the driver's file":    "Model: NVIDIA H100\nGPU UUID: \t GPU-6f1c2a01-5eed-4a11-8c0d-0000c0ffee01\n",
		"no UUID in the driver's file": "Model: NVIDIA H100\nGPU UUID: \t GPU-????????-????-????-????-????????????\n",
		"no file":                      "",
	} {
		t.Run(name, func(t *testing.T) {
			const fault = "[fault f]\ngpu = 1\nfunction = nvmlDeviceGetPciInfo\nreturn = UNKNOWN"
			b := start(t, "gpus = 2\n"+fault)
			b.pci("0000:0a:00.0", "nvidia", "")
			b.pci("0000:0d:00.0", "nvidia", "")
			if information != "" {
				b.information("0000:0d:00.0", information)
			}
			counters.Reset()
			for range 4 {
				n := b.read()
				healthy(t, n, 2)
				assert.Equal(t, [gpu.NumPresences]int64{2, 0, 0}, all(n))
				b.clock = b.clock.Add(time.Hour)
			}
			assert.Equal(t, uint64(1), counters.Calls("nvmlInit_v2"), "nothing to open NVML again for")

			b.set(fault + "\n[fault g]\ngpu = 1\nkind = lost")
			n := b.read()
			healthy(t, n, 2, 1)
			failed(t, n, 1, gpu.FaultLost)
			assert.Equal(t, [gpu.NumPresences]int64{1, 1, 0}, all(n), "counted once")
		})
	}
}

// A GPU without an address does not hide another one that NVML does not show.
func TestWithoutAnAddressNextToAnUnlistedGPU(t *testing.T) {
	const stranger = "GPU-11111111-2222-3333-4444-555555555555"
	b := start(t, "gpus = 1\n[fault f]\nfunction = nvmlDeviceGetPciInfo\nreturn = UNKNOWN")
	for _, address := range []string{"0000:0a:00.0", "0000:0d:00.0", "0000:1b:00.0"} {
		b.pci(address, "nvidia", "")
	}
	b.information("0000:0a:00.0", "GPU UUID: GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00\n")
	b.information("0000:0d:00.0", "GPU UUID: "+stranger+"\n")
	b.information("0000:1b:00.0", "GPU UUID: "+stranger+"\n") // which makes no sense, and no two devices of one id
	n := b.read()
	require.Equal(t, []string{"GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00", stranger}, ids(n))
	assert.Equal(t, gpu.StateOK, n.Devices[0].State())
	assert.Equal(t, gpu.FaultUnreachable, n.Devices[1].Faults[0].Type)
	assert.Equal(t, [gpu.NumPresences]int64{1, 2, 0}, all(n))
}
