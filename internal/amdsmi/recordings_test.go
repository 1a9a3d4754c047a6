// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestRecordings(t *testing.T) {
	t.Parallel()
	for _, file := range smitest.Recordings(t, "amd-smi", "*.json") {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		name, _, _ := strings.Cut(filepath.Base(file)[strings.LastIndex(filepath.Base(file), "__")+2:], ".")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			verb, _, _ := strings.Cut(name, "_")
			node := smitest.Read(t, newTestSource(&smitest.Tool{Answer: func(args string) (command.Result, error) {
				switch {
				case strings.HasPrefix(args, verb):
					return smitest.Prints(string(raw))
				case strings.HasPrefix(args, "list"):
					return smitest.Prints(`[{"gpu": 0, "bdf": "0000:01:00.0", "uuid": "32ff740f-0000-1000-80a4-d3d61bfc2208"}]`)
				}
				return smitest.Prints("[]")
			}}))
			require.Len(t, node.Devices, 1)
			switch name {
			case "metric_power":
				smitest.RequireNear(t, 10, node.Devices[0].Power.Draw, "power")
				require.Equal(t, []gpu.SensorValue{
					{Location: "gfx", Value: gpu.Some(0.006)}, {Location: "soc", Value: gpu.Some(0.918)}, {Location: "mem", Value: gpu.Some(1.25)},
				}, node.Devices[0].Voltage)
			case "process":
				require.Equal(t, []gpu.Process{
					{PID: 420157, DeviceID: "32a4d3d61bfc2208", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](0), Executable: "TransferBench"},
					{PID: 420315, DeviceID: "32a4d3d61bfc2208", Type: gpu.ProcessCompute, Memory: gpu.Some[int64](0), Executable: "rvs"},
				}, node.Processes)
			default:
				t.Errorf("what is in %s is not checked", name)
			}
		})
	}
}
