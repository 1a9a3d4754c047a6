// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/test/differential"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// spoiling is the real tool, whose -q -x of all GPUs breaks off.
type spoiling struct {
	command.Runner
	spoil func(xml *command.Result)
}

func (s spoiling) Run(ctx context.Context, commands ...command.Command) ([]command.Result, error) {
	results, err := s.Runner.Run(ctx, commands...)
	for i := range results {
		if slices.Equal(commands[i].Args, []string{"-q", "-x"}) {
			s.spoil(&results[i])
		}
	}
	return results, err
}

// TestToolBreaksOff: a full query that crashes has the values of the fast one. A full query that ends at the message about a lost GPU has
// the values of a complete one.
func TestToolBreaksOff(t *testing.T) {
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	values := func(query string, runner command.Runner) differential.Values {
		node, err := nvidiasmi.New(nvidiasmi.Config{Query: query}, runner, gpu.GroupAll).Read(t.Context())
		require.NoError(t, err)
		require.Nil(t, node.Failure)
		require.Len(t, node.Devices, 4)
		return differential.Flatten(node)
	}

	nvmlsim.Use(t, "time = manual\nnow = 100s\ngpus = 4\n[gpu *]\nboard = h100\n[gpu 2]\nremapped.pending = 1\n")
	crash := spoiling{real, func(r *command.Result) { r.Stdout, r.ExitCode = r.Stdout[:len(r.Stdout)/2], -1 }}
	assert.Equal(t, values(nvidiasmi.QueryFast, crash), values(nvidiasmi.QueryFull, crash))

	nvmlsim.Use(t, "time = manual\nnow = 100s\ngpus = 4\n[gpu *]\nboard = h100\n[fault f]\ngpu = 1\nkind = lost\nfunction = nvmlDeviceGetPciInfo\n")
	end := spoiling{real, func(r *command.Result) {
		before, _, ok := bytes.Cut(r.Stdout, []byte("</error_string>"))
		assert.True(t, ok)
		r.Stdout = slices.Concat(before, []byte("</error_string>\n"))
	}}
	assert.Equal(t, values(nvidiasmi.QueryFull, real), values(nvidiasmi.QueryFull, end))
}
