// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

var update = flag.Bool("update", false, "write the golden files")

// simulate writes a machine's files. It returns them, a source that reads them, and the clock of the source.
func simulate(t *testing.T, m *amdgpusim.Machine, want gpu.Group, change ...func(*Config)) (*amdgpusim.Tree, *Source, *clock) {
	t.Helper()
	tree, err := amdgpusim.Write(t.TempDir(), m)
	require.NoError(t, err)
	cfg := DefaultConfig()
	cfg.RootPath = tree.Root
	for _, c := range change {
		c(&cfg)
	}
	now := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	source, err := New(cfg, want, WithClock(now.Now), WithHungAfter(-1))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, source.Close()) })
	return tree, source, now
}

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

// TestGolden reads every simulated machine and compares every value.
func TestGolden(t *testing.T) {
	for name, build := range amdgpusim.Machines() {
		t.Run(name, func(t *testing.T) {
			_, source, _ := simulate(t, build(), gpu.GroupAll)
			node, err := source.Read(patient(t))
			require.NoError(t, err)
			got := dump(node)
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o750))
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"))
		})
	}
}
