// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// What is left out of the processes is told.
func TestProcessesThatAreLeftOutAreTold(t *testing.T) {
	for want, spoil := range map[string]func(f *tool){
		"--query-compute-apps: 1 rows are unreadable": func(f *tool) { f.apps.stdout += "x, GPU-a, 1 MiB, python3\n" },
		"pmon: 1 rows are unreadable":                 func(f *tool) { f.pmon.stdout += "0 x C 1 1 1 1 1 python3\n" },
		"nvidia-smi pmon: the output ends early":      func(f *tool) { f.pmon.stdout = strings.TrimSuffix(f.pmon.stdout, "none\n") },
		"--query-compute-apps: the output ends early": func(f *tool) { f.apps.stdout = strings.TrimSuffix(f.apps.stdout, "Found]\n") },
		"1 of 2 GPUs are missing in its output; The feature is not supported in this configuration": func(f *tool) {
			f.pmon.stdout = "The feature is not supported in this configuration\n" + strings.Replace(f.pmon.stdout, "\n1 101 C+G - - 7 - 30 tool\n", "\n", 1)
		},
		"the name of a process is unreadable on 1 of": func(f *tool) {
			f.pmon.stdout = strings.Replace(f.pmon.stdout, "\n1 101 C+G - - 7 - 30 tool\n", "\n1 - - - - - - - -\n", 1)
		},
	} {
		t.Run(want, func(t *testing.T) {
			f := tableTool(t, allNames())
			f.apps.stdout += "103, GPU-a, 1 MiB, [Not Found]\n"
			assert.Empty(t, problems(read(t, newReader(t, QueryFast, f, newClock()))), "pmon tells of other processes of that GPU")
			spoil(f)
			assert.Contains(t, problems(read(t, newReader(t, QueryFast, f, newClock()))), want)
		})
	}
}

// GPUs whose UUIDs cannot be read are no namesakes, and one that is told of on both streams is one.
func TestNobodyIsTwice(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = strings.NewReplacer(h100First, "N/A", h100Second, "N/A").Replace(f.xml.stdout)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{"", ""}, ids(node))
	assert.NotContains(t, problems(node), "as ")

	f = h100Tool(t)
	f.xml.stdout, f.xml.stderr = handle+withoutSecond(f.xml.stdout), handle
	node = read(t, newReader(t, QueryFull, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Empty(t, problems(node))
	assert.Equal(t, counts(1, 1), presence(node))
}

// A MIG device is named after its place where all of it is told, else after its number.
func TestMIGDeviceOfWhichHalfThePlaceIsTold(t *testing.T) {
	f := migTool(t)
	f.xml.stdout = strings.Replace(f.xml.stdout, "<compute_instance_id>0</compute_instance_id>", "<compute_instance_id>N/A</compute_instance_id>", 1)
	d := deviceOf(t, read(t, newReader(t, QueryFull, f, newClock())), migBig)
	assert.Equal(t, "nvidia0/mig0", d.Name)
	assert.Equal(t, gpu.Opt[int]{}, d.ComputeInstance)
}
