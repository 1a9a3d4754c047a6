// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
	"github.com/otelgpu/gpureceiver/test/differential"
)

// tool is one of AMD's tools, read by the receiver's scraper for it.
type tool struct {
	name    string
	release string // of Debian
	source  func(command.Runner) gpu.Source
}

func tools() []tool {
	rocm := func(r command.Runner) gpu.Source {
		cfg := rocmsmi.DefaultConfig()
		return rocmsmi.New(&cfg, r, gpu.GroupAll)
	}
	amd := func(r command.Runner) gpu.Source {
		cfg := amdsmi.DefaultConfig()
		return amdsmi.New(&cfg, r, gpu.GroupAll)
	}
	return []tool{
		{"rocm-smi 5.2.3", "bookworm", rocm},
		{"rocm-smi 6.1.2", "trixie", rocm},
		{"amd-smi 24.5.2", "trixie", amd},
	}
}

// TestTools reads every simulated machine from the driver's files and through every tool, and compares value by value. Every difference
// must be explained (explanations_test.go), and every explanation must match a difference.
func TestTools(t *testing.T) {
	explained := differential.New(explanations)
	machines := amdgpusim.Machines()
	for _, machine := range slices.Sorted(maps.Keys(machines)) {
		for _, tool := range tools() {
			t.Run(machine+" "+tool.name, func(t *testing.T) {
				m := machines[machine]()
				tree, err := amdgpusim.Write(t.TempDir(), m)
				require.NoError(t, err)
				sandbox := newSandbox(t, tool.release, tree)
				own, err := amdgpu.New(amdgpu.Config{RootPath: tree.Root}, gpu.GroupAll)
				require.NoError(t, err)
				defer func() { require.NoError(t, own.Close()) }()
				ours, err := own.Read(t.Context())
				require.NoError(t, err)

				source := tool.source(sandbox)
				defer func() { require.NoError(t, source.Close()) }()
				theirs, err := source.Read(t.Context())
				if refusal, ok := refusals[machine+" "+tool.name]; ok {
					require.ErrorContains(t, err, refusal.message, "if it can be read now, remove the refusal")
					t.Log("the source cannot be read:", refusal.why)
					return
				}
				require.NoError(t, err)
				agree := explained.Compare(t, machine, tool.name, differential.Flatten(ours), differential.Flatten(theirs))
				assert.Positive(t, agree)

				// The comparison is repeated after the counters have advanced: values that a source derives from two reads must agree, too.
				proceed(m)
				_, err = amdgpusim.Write(tree.Root, m)
				require.NoError(t, err)
				ours, err = own.Read(t.Context())
				require.NoError(t, err)
				theirs, err = source.Read(t.Context())
				require.NoError(t, err)
				explained.Compare(t, machine, tool.name, differential.Flatten(ours), differential.Flatten(theirs))
			})
		}
	}
	if t.Failed() || t.Skipped() {
		return
	}
	if canRun() {
		explained.Unused(t)
	}
}
