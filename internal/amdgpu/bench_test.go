// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package amdgpu

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// everyMetric is what a receiver with its default metrics wants.
const everyMetric = gpu.GroupAll &^ (gpu.GroupProcesses | gpu.GroupProcessUtilization)

func benchmarkRead(b *testing.B, m *amdgpusim.Machine, devices int, want gpu.Group) {
	b.Helper()
	tree, err := amdgpusim.Write(b.TempDir(), m)
	require.NoError(b, err)
	source, err := New(Config{RootPath: tree.Root}, want)
	require.NoError(b, err)
	defer func() { require.NoError(b, source.Close()) }()
	b.ReportAllocs()
	for b.Loop() {
		node, err := source.Read(b.Context())
		if err != nil || len(node.Devices) != devices || len(node.Problems) > 0 {
			b.Fatal(err, len(node.Devices), node.Problems)
		}
	}
}

func BenchmarkRead8(b *testing.B) { benchmarkRead(b, amdgpusim.MI300XNode(8, false), 8, everyMetric) }
func BenchmarkRead64(b *testing.B) {
	benchmarkRead(b, amdgpusim.MI300XNode(8, true), 8+64, everyMetric)
}

// BenchmarkFloor8 and BenchmarkFloor64 are the floor: the same files are opened, read and closed, and not parsed.
func BenchmarkFloor8(b *testing.B)  { benchmarkFloor(b, amdgpusim.MI300XNode(8, false)) }
func BenchmarkFloor64(b *testing.B) { benchmarkFloor(b, amdgpusim.MI300XNode(8, true)) }

func benchmarkFloor(b *testing.B, m *amdgpusim.Machine) {
	b.Helper()
	tree, err := amdgpusim.Write(b.TempDir(), m)
	require.NoError(b, err)
	// The files that a read of the source reads are found by letting it read.
	source, err := New(Config{RootPath: tree.Root}, everyMetric)
	require.NoError(b, err)
	defer func() { require.NoError(b, source.Close()) }()
	var mu sync.Mutex
	var files []string
	source.readFile = func(path string) ([]byte, error) {
		text, err := sysfs.Read(path)
		if err == nil {
			mu.Lock()
			files = append(files, path)
			mu.Unlock()
		}
		return text, err
	}
	_, err = source.Read(b.Context())
	require.NoError(b, err)
	b.ReportAllocs()
	b.ReportMetric(float64(len(files)), "files")
	for b.Loop() {
		for _, path := range files {
			if _, err := os.ReadFile(path); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkProcesses reads 500 processes with 2,000 open files. 100 of the files are GPU files, and 20 processes compute.
func BenchmarkProcesses(b *testing.B) {
	m := amdgpusim.MI300XNode(8, false)
	for i := range 500 {
		p := amdgpusim.Process{PID: 1000 + i, Name: "work"}
		for fd := range 4 {
			p.Files = append(p.Files, amdgpusim.File{FD: fd, Target: fmt.Sprintf("/srv/data/part-%d", fd)})
		}
		if i%5 == 0 {
			c := m.Cards[i%8]
			p.Files[3] = amdgpusim.File{FD: 3, Target: fmt.Sprintf("/dev/dri/renderD%d", 128+c.Number), Client: &amdgpusim.Client{
				ID: uint64(i), Address: c.Address, Keys: []string{amdgpusim.VRAM(1 << 20), amdgpusim.Engine("gfx", 1e9), amdgpusim.Engine("compute", 1e9)},
			}}
		}
		if i%25 == 0 {
			for _, c := range m.Cards {
				p.Compute = append(p.Compute, amdgpusim.ComputeUse{GPUID: c.Partitions[0].GPUID, VRAM: 1 << 30, Occupied: 30})
			}
		}
		m.Processes = append(m.Processes, p)
	}
	tree, err := amdgpusim.Write(b.TempDir(), m)
	require.NoError(b, err)
	source, err := New(Config{RootPath: tree.Root}, gpu.GroupProcesses|gpu.GroupProcessUtilization)
	require.NoError(b, err)
	defer func() { require.NoError(b, source.Close()) }()
	b.ReportAllocs()
	for b.Loop() {
		node, err := source.Read(b.Context())
		if err != nil || len(node.Processes) < 100 || len(node.Problems) > 0 {
			b.Fatal(err, len(node.Processes), node.Problems)
		}
	}
}

// BenchmarkProcessesFloor reads the link of every open file, and nothing else.
func BenchmarkProcessesFloor(b *testing.B) {
	m := &amdgpusim.Machine{}
	for i := range 500 {
		p := amdgpusim.Process{PID: 1000 + i, Name: "work"}
		for fd := range 4 {
			p.Files = append(p.Files, amdgpusim.File{FD: fd, Target: fmt.Sprintf("/srv/data/part-%d", fd)})
		}
		m.Processes = append(m.Processes, p)
	}
	tree, err := amdgpusim.Write(b.TempDir(), m)
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		for i := range 500 {
			path := tree.Path(fmt.Sprintf("proc/%d/fd", 1000+i))
			entries, err := os.ReadDir(path)
			if err != nil {
				b.Fatal(err)
			}
			for _, e := range entries {
				if _, err := os.Readlink(filepath.Join(path, e.Name())); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}
