// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestTrapHalfAnOutput(t *testing.T) {
	f := h100Tool(t)
	r := newReader(t, QueryFull, f, newClock())
	before := *deviceOf(t, read(t, r), h100Second)
	f.xml.stdout = f.xml.stdout[:strings.LastIndex(f.xml.stdout, "<remapped_rows>")]
	f.xml.truncated = true
	node := read(t, r)
	assert.Nil(t, node.Failure)
	assert.Equal(t, []string{h100First, h100Second}, ids(node))
	assert.False(t, deviceOf(t, node, h100First).Unread)
	d := deviceOf(t, node, h100Second)
	assert.True(t, d.Unread, "a GPU that was cut off is read or lost")
	assert.Empty(t, d.Faults)
	assert.Equal(t, before.Info, d.Info)
	assert.Contains(t, problems(node), "the output ends early")
	assert.Equal(t, [gpu.NumPresences]gpu.Opt[int64]{}, presence(node))
}

// A corrupted infoROM is a fault of the GPU, and no failure to read: all values are printed.
func TestCorruptInfoROM(t *testing.T) {
	const warning = "\nWARNING: infoROM is corrupted at gpu 0000:1B:00.0\n"
	for name, corrupt := range map[string]func(a *answer){
		"on stdout": func(a *answer) { a.stdout += warning },
		"on stderr": func(a *answer) { a.stderr = warning },
	} {
		f := h100Tool(t)
		f.xml.exit = 14
		corrupt(&f.xml)
		node := read(t, newReader(t, QueryFull, f, newClock()))
		assert.Nil(t, node.Failure, name)
		assert.Empty(t, problems(node), name)
		d := deviceOf(t, node, h100First)
		assert.Contains(t, faults(d), gpu.FaultInfoROM, name)
		assert.Equal(t, gpu.StateDegraded, d.State(), name)
		assert.True(t, d.Memory.Usage.Known(), name)
		assert.NotContains(t, faults(deviceOf(t, node, h100Second)), gpu.FaultInfoROM, name)
	}
}

func TestCorruptInfoROMOfAnUnlistedGPU(t *testing.T) {
	f := h100Tool(t)
	f.xml.exit, f.xml.stderr = 14, "WARNING: infoROM is corrupted at gpu 0000:FF:00.0\n"
	assert.Contains(t, problems(read(t, newReader(t, QueryFull, f, newClock()))), "of the GPU at 0000:ff:00.0, which it does not list")
}

func TestExitCodeBesideData(t *testing.T) {
	f := h100Tool(t)
	f.xml.exit = 255
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Contains(t, problems(node), "it lists GPUs but reports: exit code 255")
}

// Processes may be missing in a list that ends early.
func TestProcessesOfACutListAreUnread(t *testing.T) {
	for name, cut := range map[string]func(f *tool){
		"apps": func(f *tool) { f.apps.exit, f.pmon = -1, answer{stdout: "Unknown Error\n", exit: 255} },
		"pmon": func(f *tool) { f.pmon.exit, f.apps = -1, answer{stdout: "Unknown Error\n", exit: 255} },
		"both": func(f *tool) { f.apps.truncated, f.pmon.truncated = true, true },
	} {
		t.Run(name, func(t *testing.T) {
			f := tableTool(t, allNames())
			cut(f)
			node := read(t, newReader(t, QueryFast, f, newClock()))
			assert.True(t, deviceOf(t, node, "GPU-a").ProcessesUnread)
			assert.True(t, deviceOf(t, node, "GPU-b").ProcessesUnread)
			assert.NotEmpty(t, node.Processes, "the listed processes are missing")
		})
	}
}
