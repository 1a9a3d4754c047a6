// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestProcesses(t *testing.T) {
	t.Parallel()
	const cards = `{"card1": {"Unique ID": "0xb", "PCI Bus": "0000:04:00.0"}, "card0": {"Unique ID": "N/A", "PCI Bus": "0000:03:00.0"}, "system": {`
	const heading = "=== GPUs Indexed by PID ===\n"
	for _, tt := range []struct {
		name   string
		system string
		text   string
		want   []gpu.Process
		left   string
	}{
		{
			name: "one card, by number", system: `"PID12": "python3, 1, 1073741824, 0, 76"`, text: heading + "PID 12 is using 1 DRM device(s):\n1 \n",
			want: []gpu.Process{{PID: 12, DeviceID: "000000000000000b", Memory: gpu.Some[int64](1 << 30), Executable: "python3"}},
		},
		{
			name: "a card without a unique id", system: `"PID12": "python3, 1, 4096, 0, 76"`, text: heading + "PID 12 is using 1 DRM device(s):\n0 \n",
			want: []gpu.Process{{PID: 12, Location: gpu.Location{PCIAddress: "0000:03:00.0"}, Memory: gpu.Some[int64](4096), Executable: "python3"}},
		},
		{
			name: "copy engines", system: `"PID12": "python3, 1, 4096, 2500000, 76", "PID13": "x, 1, 4096, 4294967295, 76"`,
			text: heading + "PID 12 is using 1 DRM device(s):\n1 \nPID 13 is using 1 DRM device(s):\n1 \n",
			want: []gpu.Process{
				{PID: 12, DeviceID: "000000000000000b", Memory: gpu.Some[int64](4096), SDMATime: gpu.Total(2.5), Executable: "python3"},
				{PID: 13, DeviceID: "000000000000000b", Memory: gpu.Some[int64](4096), Executable: "x"},
			},
		},
		{
			name: "two cards", system: `"PID12": "python3, 2, 8192, 9, 76"`, text: heading + "PID 12 is using 2 DRM device(s):\n0 1 \n",
			want: []gpu.Process{{PID: 12, Location: gpu.Location{PCIAddress: "0000:03:00.0"}, Executable: "python3"}, {PID: 12, DeviceID: "000000000000000b", Executable: "python3"}},
		},
		{
			name: "none", system: `"PID12": "mlir-cpu-runner, 0, 0, 0, 0"`, text: heading + "PID 12 is using 0 DRM device(s)\n",
		},
		{
			name: "unknown in every way", system: `"PID12": "UNKNOWN, 1, UNKNOWN, UNKNOWN, UNKNOWN", "PID13": "x, 1, 4294967295, 0, 4294967295", "PID14": "y, 1, 0, 0, 0"`,
			text: heading + "PID 12 is using 1 DRM device(s):\n1 \nPID 13 is using 1 DRM device(s):\n1\nPID 14 is using 1 DRM device(s):\n1\n",
			want: []gpu.Process{
				{PID: 12, DeviceID: "000000000000000b"},
				{PID: 13, DeviceID: "000000000000000b", Executable: "x"},
				{PID: 14, DeviceID: "000000000000000b", Executable: "y"},
			},
		},
		{
			name: "a blank in the name, and a colon that cuts the line", system: `"PID12": "a, b, 1, 4096, 0, 1", "PID13": "C"`,
			text: heading + "PID 12 is using 1 DRM device(s):\n1 \nPID 13 is using 1 DRM device(s):\n1 \n",
			want: []gpu.Process{
				{PID: 12, DeviceID: "000000000000000b", Executable: "a b", Memory: gpu.Some[int64](4096)},
				{PID: 13, DeviceID: "000000000000000b", Executable: "C"},
			},
		},
		{
			name: "the count is no number of a card", system: `"PID12": "python3, 1, 4096, 0, 76"`, text: "",
			left: "rocm-smi does not show which GPUs 1 processes use",
		},
		{
			name: "the text has the names as they are", system: `"PID12": "isaac-sim, 1, 4096, 0, 76"`,
			text: heading + "PID 12 is using 1 DRM device(s):\n1 \n=====\nKFD process information:\nPID\tPROCESS NAME\tGPU(s)\tVRAM USED\tSDMA USED\tCU OCCUPANCY\t\n" +
				"12 \tIsaac-Sim\t1\t4096\t0\t76\t\n",
			want: []gpu.Process{{PID: 12, DeviceID: "000000000000000b", Memory: gpu.Some[int64](4096), Executable: "Isaac-Sim"}},
		},
		{name: "ROCm 3", system: `"PIDs for KFD processes": "", "PIDx": "a, 1, 2, 3, 4", "PID-4": "a, 1, 2, 3, 4"`, text: heading},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := smitest.Read(t, newTestSource(smitest.ROCmTool(cards+tt.system+`}}`, tt.text+"=====\n")))
			for i := range tt.want {
				tt.want[i].Type = gpu.ProcessCompute
			}
			require.Equal(t, tt.want, node.Processes)
			assert.Equal(t, tt.left != "", node.Devices[0].ProcessesUnread)
			if tt.left == "" {
				require.Empty(t, smitest.Problems(node))
			} else {
				require.Contains(t, smitest.Problems(node), tt.left)
			}
		})
	}
}

// Without the text, the devices of a process are known if it uses as many as there are. Its memory is the sum of theirs and is absent.
func TestProcessesOnAllCards(t *testing.T) {
	t.Parallel()
	node := smitest.Read(t, newTestSource(smitest.ROCmTool(`{"card0": {"Unique ID": "0xa", "PCI Bus": "0000:03:00.0"},
		"card1": {"Unique ID": "0xb", "PCI Bus": "0000:04:00.0"},
		"system": {"PID7": "python3, 2, 8192, 0, 1", "PID8": "python3, 1, 4096, 0, 1"}}`, "", "--showpidgpus")))
	require.Equal(t, []gpu.Process{
		{PID: 7, DeviceID: "000000000000000a", Executable: "python3", Type: gpu.ProcessCompute},
		{PID: 7, DeviceID: "000000000000000b", Executable: "python3", Type: gpu.ProcessCompute},
	}, node.Processes)
	require.Contains(t, smitest.Problems(node), "rocm-smi does not show which GPUs 1 processes use")
}

// If there is one GPU, a process that uses one uses that one.
func TestProcessesOnOnlyCard(t *testing.T) {
	t.Parallel()
	node := smitest.Read(t, newTestSource(smitest.ROCmTool(`{"card0": {"Unique ID": "0xa", "PCI Bus": "0000:03:00.0"},
		"system": {"PID7": "python3, 1, 4096, 0, 1", "PID8": "idle, 0, 0, 0, 0"}}`, "", "--showpidgpus")))
	require.Len(t, node.Processes, 1)
	assert.Equal(t, int64(7), node.Processes[0].PID)
	assert.Equal(t, "000000000000000a", node.Processes[0].DeviceID)
}
