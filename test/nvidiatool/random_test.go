// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvidiatool

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/test/differential"
	"github.com/otelgpu/gpureceiver/test/histories"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// TestToolRandom compares NVML and the tool on random machines, and on the same machines with GPUs that are lost or must be reset.
func TestToolRandom(t *testing.T) {
	library, err := nvmlsim.Build()
	if errors.Is(err, nvmlsim.ErrNoCompiler) {
		t.Skip(err)
	}
	require.NoError(t, err)
	real := newTool(t, library.Dir)
	explained := differential.New(append(randomExplanations, explanations...))
	histories.Each(t, histories.Plan{Seed: 1, Histories: 12, Rounds: 1}, func(t *testing.T, h *histories.History) {
		scenario, faults := randomMachine(h.Seed)
		control := nvmlsim.Use(t, scenario)
		machine := "random"
		if strings.Contains(scenario, "mig = 1") {
			machine = "mig"
		}
		config := nvml.DefaultConfig()
		config.LibraryPath = library.Full
		ours := nvml.New(&config, gpu.GroupAll, nvml.WithSysRoot(t.TempDir()), nvml.WithProcRoot(t.TempDir()))
		t.Cleanup(func() { require.NoError(t, ours.Close()) })
		theirs := map[string]*nvidiasmi.Reader{}
		for _, query := range []string{nvidiasmi.QueryFull, nvidiasmi.QueryFast} {
			theirs[query] = nvidiasmi.New(nvidiasmi.Config{Query: query}, real, gpu.GroupAll)
		}
		compareAll(t, explained, machine, ours, theirs)
		if faults != "" {
			require.NoError(t, control.Set(faults))
			compareAll(t, explained, machine, ours, theirs)
		}
		if t.Failed() {
			t.Log(scenario + faults)
		}
	})
}

func compareAll(t *testing.T, explained *differential.Explanations, machine string, ours gpu.Source, theirs map[string]*nvidiasmi.Reader) {
	t.Helper()
	node, err := ours.Read(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, node.Devices)
	for query, tool := range theirs {
		t.Run(query, func(t *testing.T) {
			byTool, err := tool.Read(t.Context())
			require.NoError(t, err)
			explained.Compare(t, machine, query, differential.Flatten(node), differential.Flatten(byTool))
			if t.Failed() {
				t.Log(byTool.Problems)
			}
		})
	}
}

// randomExplanations are the additional explanations for random machines, on which any value may occur.
var randomExplanations = []differential.Explanation{
	differential.Because(every, every, ".* Peers.*", differential.Missing, "nvidia-smi topo is not run"),
	differential.Because(every, every, ".* Memory.*", differential.Near(1<<20), "whole MiB"),
	differential.Because(every, every, ".* process .*Memory", differential.Near(1<<20), "whole MiB"),
	differential.Because(every, every, ".* Power.*", differential.Near(0.00501), "two decimals"),
	differential.Because(every, every, ".* Fans.[1-9].*", differential.Missing, "it prints one fan"),
	differential.Because(every, fast, ".* Power.Draw", differential.More, "the instantaneous, where the mark of no value stands for the average"),
	differential.Because(every, every, "GPU-.* CurrentIndex", differential.Missing, "of a lost GPU: NVML was open before and still has its handle"),
	differential.Because(every, every, ".* Faults.*Message", differential.Differs, "in words of its own"),
}
