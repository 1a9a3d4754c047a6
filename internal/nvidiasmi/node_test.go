// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestRefusedQuantitiesAreProblems(t *testing.T) {
	node := read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v10-418.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-a)\n"}}, newClock()))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, "GPU-41800000-0000-4000-8000-000000000002", node.Problems[0].Device)
	assert.Equal(t, "fan.speed, utilization.gpu, temperature.gpu", node.Problems[0].What)
	require.ErrorContains(t, node.Problems[0].Err, "Unknown Error; see the kernel log")

	node = read(t, newReader(t, QueryFull, &tool{xml: file(t, "xml/v11-470.xml"), list: answer{stdout: "GPU 0: a (UUID: GPU-a)\n"}}, newClock()))
	assert.Contains(t, problems(node), "process.used_memory: Insufficient Permissions; run it as root, or outside of a container that hides the values; "+
		"in a container with MIG enabled, set NVIDIA_MIG_MONITOR_DEVICES=all and add CAP_SYS_ADMIN")
}

// A GPU whose UUID cannot be read is read all the same. Its processes name it by its address until it has an ID.
func TestProcessesMissingUUID(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<uuid>"+h100First+"</uuid>", "<uuid>Unknown Error</uuid>", 1)
	f.list.stdout = strings.Replace(f.list.stdout, h100First, "Unknown Error", 1)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{"", h100Second}, ids(node))
	assert.Equal(t, counts(2, 0), presence(node))
	assert.Contains(t, problems(node), "nvidia-smi: 0000:1b:00.0: uuid: Unknown Error")
	assert.False(t, node.Devices[0].ProcessesUnread)
	node.Host.Name = "host"
	node.CompleteIDs()
	p := processOf(t, node, "host/0000:1b:00.0", 990001)
	assert.Equal(t, gpu.Some(int64(70990<<20)), p.Memory)
	assert.Equal(t, gpu.Some(0.97), p.Utilization[gpu.TaskGeneral])
	assert.Len(t, node.Processes, 2)
}

// The table of processes identifies a GPU by its UUID only. Without one, only pmon shows the processes.
func TestFastProcessesMissingUUID(t *testing.T) {
	f := tableTool(t, allNames())
	table := f.table
	f.table = func(fields []string) answer {
		a := table(fields)
		a.stdout = strings.Replace(a.stdout, "GPU-a", "[Unknown Error]", 1)
		return a
	}
	f.apps.stdout = strings.Replace(f.apps.stdout, "GPU-a", "[Unknown Error]", 1)
	r := newReader(t, QueryFast, f, newClock())
	node := read(t, r)
	require.Len(t, node.Devices, 2)
	assert.False(t, node.Devices[0].ProcessesUnread)
	processOf(t, node, "0000:0a:00.0", 100)
	assert.Len(t, node.Processes, 3)

	f.pmon = answer{stdout: "Not supported on the device(s)\n", exit: 3}
	node = read(t, r)
	assert.True(t, node.Devices[0].ProcessesUnread)
	assert.False(t, node.Devices[1].ProcessesUnread)
	assert.Len(t, node.Processes, 1)
}

// A problem names a few quantities and counts the others.
func TestManyRefusedQuantities(t *testing.T) {
	f := h100Tool(t)
	first, rest, _ := strings.Cut(f.xml.stdout, "</gpu>")
	f.xml.stdout = regexp.MustCompile(`>[0-9]+ (C|MHz)<`).ReplaceAllString(first, ">Unknown Error<") + "</gpu>" + rest
	node := read(t, newReader(t, QueryFull, f, newClock()))
	require.Len(t, node.Problems, 1)
	assert.Equal(t, h100First, node.Problems[0].Device)
	assert.Equal(t, maxQuantities, strings.Count(node.Problems[0].What, ","), node.Problems[0].What)
	assert.Regexp(t, ", [0-9]+ more$", node.Problems[0].What)
}
