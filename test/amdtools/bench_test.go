// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package amdtools

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// cpu returns the processor time of this process or of its children that have ended.
func cpu(b *testing.B, target int) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	require.NoError(b, syscall.Getrusage(target, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkTools runs each tool once with the smallest useful query. BenchmarkDriverFiles reads all values of the same machine from the
// driver's files.
func BenchmarkTools(b *testing.B) {
	if !canRun() {
		b.Skip(directory + " is not set, or not root")
	}
	tree, err := amdgpusim.Write(b.TempDir(), amdgpusim.MI250())
	require.NoError(b, err)
	for name, c := range map[string]struct {
		release string
		command command.Command
	}{
		"rocm-smi_5.2.3": {"bookworm", command.Command{Tool: command.ROCmSMI, Args: []string{"--json", "--showuse", "--showmeminfo", "vram", "--showpower"}}},
		"rocm-smi_6.1.2": {"trixie", command.Command{Tool: command.ROCmSMI, Args: []string{"--json", "--showuse", "--showmeminfo", "vram", "--showpower"}}},
		"amd-smi_24.5.2": {"trixie", command.Command{Tool: command.AMDSMI, Args: []string{"metric", "--json", "-u", "-m", "-p"}}},
	} {
		b.Run(name, func(b *testing.B) {
			s := newSandbox(b, c.release, tree)
			before := cpu(b, syscall.RUSAGE_CHILDREN)
			for b.Loop() {
				results, err := s.Run(b.Context(), c.command)
				require.NoError(b, err)
				require.Zero(b, results[0].ExitCode, string(results[0].Stderr))
			}
			b.ReportMetric(float64(cpu(b, syscall.RUSAGE_CHILDREN)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

func BenchmarkDriverFiles(b *testing.B) {
	tree, err := amdgpusim.Write(b.TempDir(), amdgpusim.MI250())
	require.NoError(b, err)
	source, err := amdgpu.New(amdgpu.Config{RootPath: tree.Root}, gpu.GroupAll)
	require.NoError(b, err)
	defer func() { require.NoError(b, source.Close()) }()
	before := cpu(b, syscall.RUSAGE_SELF)
	for b.Loop() {
		_, err := source.Read(b.Context())
		require.NoError(b, err)
	}
	b.ReportMetric(float64(cpu(b, syscall.RUSAGE_SELF)-before)/float64(b.N), "cpu-ns/op")
}
