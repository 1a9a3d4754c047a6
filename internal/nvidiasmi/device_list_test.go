// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// XML has no index. If the tool omits a GPU without a message, the place in the listing is not the index that pmon prints.
func TestIndexIsThatOfTheList(t *testing.T) {
	f := h100Tool(t)
	f.list.stdout = strings.Replace(f.list.stdout, "GPU 1:", "GPU 2:", 1)
	f.pmon.stdout = strings.Replace(f.pmon.stdout, "1 - - - - - - - - - - -", "1 7 C 9 - - - - - 1 0 x\n2 8 C 50 - - - - - 1 0 y", 1)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, gpu.Some(2), deviceOf(t, node, h100Second).Index)
	assert.Equal(t, gpu.Some(0.5), processOf(t, node, h100Second, 8).Utilization[gpu.TaskGeneral])
	assert.Len(t, node.Processes, 3, "GPU 1 is unknown")

	// Another GPU takes its place: the device list is read again.
	f.xml.stdout = strings.Replace(f.xml.stdout, h100Second, "GPU-other", 1)
	f.list.stdout = strings.Replace(f.list.stdout, h100Second, "GPU-other", 1)
	r := newReader(t, QueryFull, h100Tool(t), newClock())
	read(t, r)
	r.queries.runner = f
	assert.Equal(t, gpu.Some(2), deviceOf(t, read(t, r), "GPU-other").Index)
}

func TestIndexIsNotThePlaceInTheList(t *testing.T) {
	f := &tool{xml: file(t, "xml/lost.xml"), pmon: answer{stdout: "# gpu pid type sm command\n2 77 C 5 a\n3 78 C 6 b\n"}}
	for name, list := range map[string]answer{
		"by -L": {stdout: "GPU 0: L (UUID: GPU-55000000-0000-4000-8000-000000000001)\nGPU 2: L (UUID: GPU-55000000-0000-4000-8000-000000000003)\n" +
			"GPU 3: L (UUID: GPU-55000000-0000-4000-8000-000000000004)\n"},
		"counted": {},
	} {
		t.Run(name, func(t *testing.T) {
			f.list = list
			node := read(t, newReader(t, QueryFull, f, newClock()))
			d := deviceOf(t, node, "GPU-55000000-0000-4000-8000-000000000004")
			assert.Equal(t, gpu.Some(3), d.Index)
			assert.Equal(t, []gpu.FaultType{gpu.FaultResetRequired}, faults(d))
			processOf(t, node, "GPU-55000000-0000-4000-8000-000000000004", 78)
			processOf(t, node, "GPU-55000000-0000-4000-8000-000000000003", 77)
			assert.Equal(t, counts(2, 2), presence(node))
		})
	}
}

// A MIG device is created on the other half of the GPU and -L fails: the device does not get the UUID of another one.
func TestStaleDeviceListIdentifiesNothing(t *testing.T) {
	for name, fail := range map[string]func(a *answer){
		"says no": func(a *answer) { *a = answer{stdout: "Unknown Error\n", exit: 255} },
		"cut off": func(a *answer) { a.stdout, a.exit = strings.Replace(a.stdout, migSmall, "MIG-new", 1), -1 },
	} {
		t.Run(name, func(t *testing.T) {
			f := migTool(t)
			r := newReader(t, QueryFull, f, newClock())
			read(t, r)
			f.xml.stdout = strings.Replace(f.xml.stdout, "<gpu_instance_id>5</gpu_instance_id>", "<gpu_instance_id>6</gpu_instance_id>", 1)
			fail(&f.list)
			node := read(t, r)
			assert.Equal(t, []string{a100MIG, a100MIG + "/1/0", a100MIG + "/6/0", a100Plain}, ids(node))
			assert.Contains(t, problems(node), "nvidia-smi -L: the UUIDs of MIG devices")
		})
	}
}
