// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Of a list that ends early it is not known which processes it has left out.
func TestProcessesOfAListThatIsCutAreUnread(t *testing.T) {
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
			assert.NotEmpty(t, node.Processes, "what it tells of is told")
		})
	}
}

func TestTypeOfAProcessThatIsListedTwice(t *testing.T) {
	const unknown, compute, graphics, mps = gpu.ProcessUnknown, gpu.ProcessCompute, gpu.ProcessGraphics, gpu.ProcessMPS
	for _, tt := range [][3]gpu.ProcessType{
		{unknown, unknown, unknown},
		{compute, compute, compute},
		{unknown, compute, compute},
		{unknown, graphics, graphics},
		{unknown, mps, mps},
		{compute, graphics, gpu.ProcessComputeGraphics},
		{gpu.ProcessComputeGraphics, graphics, gpu.ProcessComputeGraphics},
		{compute, mps, mps},
	} {
		assert.Equal(t, tt[2], bothTypes(tt[0], tt[1]), "%v", tt)
		assert.Equal(t, tt[2], bothTypes(tt[1], tt[0]), "%v", tt)
	}
}
