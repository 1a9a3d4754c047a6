// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdtools

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// tool is one of AMD's tools, read by the receiver's scraper for it.
type tool struct {
	name    string
	release string // of Debian
	source  func(command.Runner) gpu.Source
}

func tools() []tool {
	rocm := func(r command.Runner) gpu.Source {
		cfg := amdsmi.DefaultROCmConfig()
		return amdsmi.NewROCm(&cfg, r, gpu.GroupAll)
	}
	amd := func(r command.Runner) gpu.Source {
		cfg := amdsmi.DefaultAMDConfig()
		return amdsmi.NewAMD(&cfg, r, gpu.GroupAll)
	}
	return []tool{
		{"rocm-smi 5.2.3", "bookworm", rocm},
		{"rocm-smi 6.1.2", "trixie", rocm},
		{"amd-smi 24.5.2", "trixie", amd},
	}
}

// TestTools reads every simulated machine from the driver's files and through every tool, and compares value by value. Every
// difference must be explained (explanations.go), and every explanation must be of a difference.
func TestTools(t *testing.T) {
	used := make([]bool, len(explanations))
	machines := amdgpusim.Machines()
	for _, machine := range slices.Sorted(maps.Keys(machines)) {
		for _, tool := range tools() {
			t.Run(machine+" "+tool.name, func(t *testing.T) {
				tree, err := amdgpusim.Write(t.TempDir(), machines[machine]())
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
				if why, ok := refusals[machine+" "+tool.name]; ok {
					require.Error(t, err, "it does now; take this out of the explanations: "+why)
					t.Log("the tool does not start:", why)
					return
				}
				require.NoError(t, err)
				compare(t, machine, tool.name, flatten(ours), flatten(theirs), used)
			})
		}
	}
	if t.Failed() || t.Skipped() {
		return
	}
	for i, u := range used {
		if !u && canRun() {
			assert.Fail(t, "no difference is left to explain", "%s: %s", explanations[i].values, explanations[i].why)
		}
	}
}

func compare(t *testing.T, machine, tool string, ours, theirs values, used []bool) {
	t.Helper()
	names := slices.Sorted(maps.Keys(ours))
	for name := range theirs {
		if _, both := ours[name]; !both {
			names = append(names, name)
		}
	}
	compared, explained := 0, 0
	for _, name := range names {
		a, here := ours[name]
		b, there := theirs[name]
		if here && there && equal(a, b) {
			compared++
			continue
		}
		if i := explain(machine, tool, name, a, b); i >= 0 {
			used[i] = true
			explained++
			continue
		}
		switch {
		case !there:
			t.Errorf("%s: %v from the driver's files, the tool has none", name, a)
		case !here:
			t.Errorf("%s: %v by the tool, the driver's files have none", name, b)
		default:
			t.Errorf("%s: %v from the driver's files, %v by the tool", name, a, b)
		}
	}
	if machine != "apu" {
		assert.Positive(t, compared)
	}
	t.Logf("%d values agree, %d differ for known reasons", compared, explained)
}

func equal(a, b any) bool {
	x, isNumber := a.(float64)
	y, also := b.(float64)
	if isNumber && also {
		return math.Abs(x-y) <= 1e-9*math.Max(math.Abs(x), math.Abs(y))
	}
	return a == b
}

// explain returns the explanation of a difference; -1: there is none.
func explain(machine, tool, name string, ours, theirs any) int {
	for i := range explanations {
		e := &explanations[i]
		if matches(e.machines, machine) && matches(e.tools, tool) && matches(e.values, name) && e.covers(ours, theirs) {
			return i
		}
	}
	return -1
}

func matches(pattern, s string) bool {
	return regexp.MustCompile("^(?:" + pattern + ")$").MatchString(s)
}
