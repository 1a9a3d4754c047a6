// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/differential"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// TestToolRefuses: a GPU that is lost, that must be reset, or whose every reading fails, has the same state with NVML and with both queries of the tool: the same
// fault, no readings, and counted alike: a GPU that must be reset is visible while the driver gives out its handle, and the others are missing.
func TestToolRefuses(t *testing.T) {
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	const handles = "\nfunction = nvmlDevice*, !nvmlDeviceGetHandleBy*, !nvmlDeviceGetPciInfo, !nvmlDeviceGetUUID, !nvmlDeviceGetIndex, " +
		"!nvmlDeviceGetName, !nvmlDeviceGetMinorNumber"
	for name, fault := range map[string]string{
		"lost": "kind = lost" + handles, "lost, no handle": "kind = lost\nat_start = true",
		"unknown error": "return = UNKNOWN" + handles + ", nvmlGpm*",
		"reset":         "kind = reset" + handles, "reset, no handle": "kind = reset\nat_start = true",
	} {
		for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
			t.Run(name+" "+query, func(t *testing.T) {
				control := nvmlsim.Use(t, "gpus = 3\n[gpu *]\nboard = h100\n")
				config := nvml.DefaultConfig()
				config.LibraryPath = library.Full
				ours := nvml.New(&config, gpu.GroupAll, nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
				t.Cleanup(func() { require.NoError(t, ours.Close()) })
				theirs := nvidiasmi.New(nvidiasmi.Config{Query: query}, real, gpu.GroupAll)
				t.Cleanup(func() { require.NoError(t, theirs.Close()) })
				refused(t, ours)
				refused(t, theirs)
				require.NoError(t, control.Set("[fault f]\ngpu = 1\n"+fault))
				values := refused(t, ours)
				require.Contains(t, values, "node Presence[1]")
				assert.Equal(t, values, refused(t, theirs))
			})
		}
	}
}

// refused returns the number of visible GPUs, and all GPUs with a fault without their descriptive fields.
func refused(t *testing.T, source gpu.Source) differential.Values {
	t.Helper()
	node, err := source.Read(t.Context())
	require.NoError(t, err)
	values := differential.Flatten(node)
	for name := range values {
		id, quantity, _ := strings.Cut(name, " ")
		_, faulty := values[id+" Faults[0].Type"]
		// Only NVML that was open before has a handle of a GPU, and with it the index, after that GPU was lost.
		described := strings.HasPrefix(quantity, "Info.") || strings.HasSuffix(quantity, ".Message") || quantity == "CurrentIndex"
		if id != "node" && (!faulty || described) {
			delete(values, name)
		}
	}
	return values
}
