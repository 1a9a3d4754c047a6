// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/differential"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// TestTool reads simulated machines by NVML and by the real nvidia-smi with both queries, and compares value by value. Every difference
// must be explained (explanations_test.go), and every explanation must match a difference.
func TestTool(t *testing.T) {
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	explained := differential.New(explanations)
	for _, machine := range []string{"steady8x64", "mig", "turing", "geforce", "grace", "blackwell"} {
		for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
			t.Run(machine+" "+query, func(t *testing.T) {
				ours := byNVML(t, library, machine)
				tool := nvidiasmi.New(nvidiasmi.Config{Query: query}, real, gpu.GroupAll)
				defer func() { require.NoError(t, tool.Close()) }()
				theirs, err := tool.Read(t.Context())
				require.NoError(t, err)
				agree := explained.Compare(t, machine, query, differential.Flatten(ours), differential.Flatten(theirs))
				assert.Greater(t, agree, 15*len(ours.Devices), "most of what a GPU has")
			})
		}
	}
	if !t.Failed() {
		explained.Unused(t)
	}
}

// byNVML reads a machine as the nvml scraper does, with its time standing still.
func byNVML(t *testing.T, library nvmlsim.Library, machine string) *gpu.Node {
	t.Helper()
	path, err := nvmlsim.ScenarioFile(machine)
	require.NoError(t, err)
	scenario, err := os.ReadFile(path)
	require.NoError(t, err)
	nvmlsim.Use(t, "time = manual\nnow = 100s\n"+string(scenario))
	config := nvml.DefaultConfig()
	config.LibraryPath = library.Full
	source := nvml.New(&config, gpu.GroupAll, nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	node, err := source.Read(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, node.Devices)
	return node
}
