// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHasProblem(t *testing.T) {
	n := Node{Problems: []Problem{
		{Kind: ProblemProcessTable, What: "anything"},
		{Kind: ProblemProcesses, Device: "GPU-1", What: "anything"},
		{What: "processes"},
	}}
	assert.True(t, n.HasProblem(ProblemProcessTable))
	assert.False(t, n.HasProblem(ProblemProcesses), "only those of one device")
	assert.False(t, n.HasProblem(ProblemSource))
}

func TestProcessesKnown(t *testing.T) {
	d, other := &Device{ID: "GPU-1"}, &Device{ID: "GPU-2"}
	for name, tt := range map[string]struct {
		node                     Node
		device, another, removed bool
	}{
		"no problem":              {Node{}, true, true, true},
		"quantity named so":       {Node{Problems: []Problem{{What: "processes"}}}, true, true, true},
		"process table":           {Node{Problems: []Problem{{Kind: ProblemProcessTable}}}, true, true, true},
		"processes of the device": {Node{Problems: []Problem{{Kind: ProblemProcesses, Device: "GPU-1"}}}, false, true, true},
		"failed":                  {Node{Failure: &Failure{}}, true, true, false},
		"processes of the node":   {Node{Problems: []Problem{{Kind: ProblemProcesses}}}, false, false, false},
	} {
		assert.Equal(t, tt.device, tt.node.ProcessesKnown(d), name)
		assert.Equal(t, tt.another, tt.node.ProcessesKnown(other), name)
		assert.Equal(t, tt.removed, tt.node.ProcessesKnown(nil), name)
	}
	var n Node
	assert.False(t, n.ProcessesKnown(&Device{ProcessesUnread: true}))
}
