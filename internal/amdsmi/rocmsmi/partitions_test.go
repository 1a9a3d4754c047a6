// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// CPX until 6.4.0: every partition shows what the package has. Since 6.4.1 the others show N/A.
func TestPartitions(t *testing.T) {
	t.Parallel()
	card := func(index int, unique, bus, profile, power, vram string) string {
		return `"card` + strconv.Itoa(index) + `": {"Unique ID": "` + unique + `", "PCI Bus": "` + bus + `", "Compute Partition": "` + profile +
			`", "Average Graphics Package Power (W)": "` + power + `", "Temperature (Sensor junction) (C)": "` + power +
			`", "GPU use (%)": "50", "VRAM Total Memory (B)": "` + vram + `", "VRAM Total Used Memory (B)": "1024", "Node ID": "` + strconv.Itoa(9-index) + `"}`
	}
	for _, tt := range []struct {
		name    string
		json    string
		want    []string
		parents []string
		gpus    int64
		own     bool // memory
	}{
		{
			name: "number in the address", gpus: 1, own: true,
			json: card(1, "N/A", "0000:05:00.1", "N/A", "N/A", "4096") + "," + card(0, "0xc", "0000:05:00.0", "DPX", "40", "8192"),
			want: []string{"000000000000000c", "000000000000000c/0", "000000000000000c/1"},
		},
		{
			name: "one address for all, numbered by node", gpus: 1,
			json: card(0, "0xc", "0000:05:00.0", "CPX", "40", "8192") + "," + card(1, "0xc", "0000:05:00.0", "CPX", "40", "8192"),
			want: []string{"000000000000000c", "000000000000000c/0", "000000000000000c/1"},
		},
		{
			name: "no unique id", gpus: 1, own: true,
			json: card(0, "N/A", "0000:05:00.0", "DPX", "40", "8192") + "," + card(1, "N/A", "0000:05:00.1", "N/A", "N/A", "4096"),
			want: []string{"", "/0", "/1"},
		},
		{
			name: "two GPUs as functions of one device of a virtual machine", gpus: 2,
			json: card(0, "0xc", "0000:05:00.0", "SPX", "40", "8192") + "," + card(1, "0xd", "0000:05:00.1", "SPX", "41", "8192"),
			want: []string{"000000000000000c", "000000000000000d"},
		},
		{
			name: "one unique id of two GPUs", gpus: 2,
			json: card(0, "0xc", "0000:05:00.0", "SPX", "40", "8192") + "," + card(1, "0xc", "0000:06:00.0", "SPX", "41", "8192"),
			want: []string{"000000000000000c", ""},
		},
		{
			name: "an address that was not read", gpus: 1, own: true,
			json: card(0, "0xc", "0000:05:00.0", "DPX", "40", "8192") + "," + card(1, "0xc", "N/A", "DPX", "N/A", "4096"),
			want: []string{"000000000000000c", "000000000000000c/0", "000000000000000c/1"},
		},
		{
			name: "a partition by itself", gpus: 1, own: true,
			json: card(0, "0xc", "0000:05:00.3", "CPX", "40", "8192"),
			want: []string{"000000000000000c/3"},
		},
		{
			name: "two partitions without the first", gpus: 1, own: true,
			json: card(0, "0xc", "0000:05:00.3", "CPX", "40", "8192") + "," + card(1, "0xc", "0000:05:00.2", "CPX", "40", "8192"),
			want: []string{"000000000000000c/2", "000000000000000c/3"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			node := smitest.Read(t, newTestSource(smitest.ROCmTool("{"+tt.json+"}", "")))
			require.Equal(t, tt.want, smitest.IDs(node))
			smitest.RequireValue(t, tt.gpus, node.Presence[gpu.Visible], "visible")
			for i := range node.Devices {
				d := &node.Devices[i]
				number, partition := d.Partition.Get()
				assert.Equal(t, partition && d.Parent != "", strings.HasSuffix(d.ID, "/"+strconv.Itoa(number)))
				assert.Equal(t, !partition, d.Power.Draw.Known(), "power of %q", d.ID)
				assert.Equal(t, !partition, d.Temperature[gpu.SensorHotspot].Known(), "temperature of %q", d.ID)
				assert.Equal(t, !partition, d.Utilization[gpu.TaskGeneral].Known(), "utilization of %q", d.ID)
				if partition {
					assert.Equal(t, strings.HasPrefix(d.ID, "0"), d.Parent != "")
					assert.True(t, d.Parent == "" || strings.HasPrefix(d.ID, d.Parent+"/"))
					last := i == len(node.Devices)-1 || !strings.HasSuffix(tt.want[0], "c") && tt.want[0] != ""
					assert.Equal(t, tt.own && last, d.Memory.Limit.Known(), "memory of %q", d.ID)
				} else {
					assert.Empty(t, d.Parent)
				}
			}
		})
	}
}

func TestGPUThatIsGone(t *testing.T) {
	t.Parallel()
	const a = `"card0": {"Unique ID": "0xa", "PCI Bus": "0000:03:00.0", "Card Series": "MI100"}`
	const b = `"card1": {"Unique ID": "0xb", "PCI Bus": "0000:04:00.0", "Card Series": "MI100", "GPU use (%)": "9"}`
	output := "{" + a + "," + b + "}"
	tool := &smitest.Tool{Answer: func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "--json") {
			return smitest.Prints(output)
		}
		return smitest.Prints("")
	}}
	s := newTestSource(tool)
	smitest.RequireValue(t, 2, smitest.Read(t, s).Presence[gpu.Visible], "visible")

	output = "{" + a + "}"
	node := smitest.Read(t, s)
	smitest.RequireValue(t, 1, node.Presence[gpu.Visible], "visible")
	smitest.RequireValue(t, 1, node.Presence[gpu.Missing], "missing")
	missing := smitest.Device(t, node, "000000000000000b")
	assert.Equal(t, gpu.StateFailed, missing.State())
	assert.Equal(t, "MI100", missing.Model)
	assert.Equal(t, gpu.Some(1), missing.Index)
	assert.False(t, missing.CurrentIndex.Known())
	assert.Equal(t, gpu.Some(0), node.Devices[0].CurrentIndex)
	assert.False(t, missing.Utilization[gpu.TaskGeneral].Known())
	require.Len(t, missing.Faults, 1)
	assert.Contains(t, missing.Faults[0].Message, "rocm-smi has not listed it since 2025-11-21T08:00:30Z")

	output = "{" + a + `,"card1": {"Uniq`
	node = smitest.Read(t, s)
	unread := smitest.Device(t, node, "000000000000000b")
	assert.True(t, unread.Unread, "half an output says nothing of the others")
	assert.Empty(t, unread.Faults)
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, node.Presence)

	output = "{" + a + "," + strings.Replace(b, "0000:04", "0000:09", 1) + "}"
	node = smitest.Read(t, s)
	assert.Equal(t, []string{"000000000000000a", "000000000000000b"}, smitest.IDs(node), "in another slot")
	smitest.RequireValue(t, 0, node.Presence[gpu.Missing], "missing")

	output = "{" + a + "," + b + "}"
	node = smitest.Read(t, s)
	assert.Len(t, node.Devices, 2)
	smitest.RequireValue(t, 0, node.Presence[gpu.Missing], "missing")
}

// A list of cards that was cut off may lack partitions of the last GPU. Without its mode it is not known whether a process runs on that GPU
// or on its first partition.
func TestCutBetweenPartitions(t *testing.T) {
	t.Parallel()
	const text = "==== KFD Processes ====\nKFD process information:\n7\ta\t1\t4096\t0\t1\n8\tb\t1\t8192\t0\t1\n" +
		"==== GPUs Indexed by PID ====\nPID 7 is using 1 DRM device(s):\n0 \nPID 8 is using 1 DRM device(s):\n1 \n====\n==== End of ROCm SMI Log ====\n"
	const whole = `{"card0": {"Unique ID": "0xa", "PCI Bus": "0000:03:00.0"}, "card1": {"Unique ID": "0xb", "PCI Bus": "0000:05:00.0"%s}, ` +
		`"card2": {"Unique ID": "0xb", "PCI Bus": "0000:05:00.0"%s}, "system": {"PID7": "a, 1, 4096, 0, 1", "PID8": "b, 1, 8192, 0, 1"}}`
	for _, tt := range []struct {
		name, mode string
		places     []string // of the processes, if the output is cut
	}{
		{name: "no mode", places: []string{"000000000000000a"}},
		{name: "a mode", mode: `, "Compute Partition": "CPX"`, places: []string{"000000000000000a", "000000000000000b/0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			output := fmt.Sprintf(whole, tt.mode, tt.mode)
			require.Equal(t, []string{"000000000000000a", "000000000000000b/0"}, places(smitest.Read(t, newTestSource(smitest.ROCmTool(output, text)))))
			part, _, _ := strings.Cut(output, `"card2"`)
			node := smitest.Read(t, newTestSource(smitest.ROCmTool(part, text)))
			require.Equal(t, tt.places, places(node))
			assert.False(t, node.Devices[0].ProcessesUnread)
			assert.Equal(t, tt.mode == "", node.Devices[1].ProcessesUnread, "what is not known is not nothing")
		})
	}
}

// places returns the devices on which the processes of a node run.
func places(node *gpu.Node) []string {
	result := make([]string, 0, len(node.Processes))
	for i := range node.Processes {
		result = append(result, node.Processes[i].DeviceID)
	}
	return result
}
