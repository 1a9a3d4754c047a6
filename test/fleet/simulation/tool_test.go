// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// local runs the calls of a source directly.
type local struct {
	tool    *Tool
	machine *Machine
	now     time.Time
}

func (l *local) Run(_ context.Context, commands ...command.Command) ([]command.Result, error) {
	var results []command.Result
	for _, c := range commands {
		out, code := l.tool.Run(l.machine, c.Args, l.now)
		results = append(results, command.Result{Stdout: []byte(out), ExitCode: code})
	}
	return results, nil
}

// The receiver's own source reads the whole simulated output, and reports no problem.
func TestTool(t *testing.T) {
	l := &local{tool: NewTool(), machine: &Machine{Number: 7, GPUs: 8}, now: time.Unix(1_780_000_000, 0)}
	source := nvidiasmi.New(nvidiasmi.Config{Query: nvidiasmi.QueryFast}, l, gpu.GroupAll)
	var first float64
	for i := range 3 {
		node, err := source.Read(t.Context())
		require.NoError(t, err)
		assert.Empty(t, node.Problems)
		require.Len(t, node.Devices, 8)
		require.Len(t, node.Processes, 8)
		assert.NotEqual(t, node.Devices[0].ID, node.Devices[1].ID)
		power, ok := node.Devices[3].Utilization[gpu.TaskGeneral].Get()
		require.True(t, ok)
		if i == 0 {
			first = power
		}
		l.now = l.now.Add(50 * time.Second)
		if i == 2 {
			assert.NotEqual(t, first, power, "values change")
		}
	}
}
