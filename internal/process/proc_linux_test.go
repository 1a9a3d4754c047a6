// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The machine's own process table.
func TestDescribeSelf(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	node := describe(New("", WithAnyNamespace(), WithCommandLine(), WithCgroup()), int64(os.Getpid()))
	require.Empty(t, node.Problems)
	process := node.Processes[0]
	assert.Equal(t, filepath.Base(self), process.Executable)
	assert.Equal(t, os.Args[0], process.Command)
	assert.Contains(t, process.CommandLine, "-test.")
	assert.NotEmpty(t, process.Owner)
	assert.WithinDuration(t, time.Now(), process.Created, time.Hour)
	assert.Contains(t, process.Cgroup, ":/")
}

func BenchmarkDescribe(b *testing.B) {
	for _, count := range []int{8, 64, 512} {
		b.Run(strconv.Itoa(count), func(b *testing.B) {
			node := &gpu.Node{}
			for range count {
				sleep := exec.Command("sleep", "600")
				require.NoError(b, sleep.Start())
				b.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
				node.Processes = append(node.Processes, gpu.Process{PID: int64(sleep.Process.Pid)})
			}
			r := New("", WithAnyNamespace(), WithCgroup())
			r.Describe(node)
			b.ReportAllocs()
			for b.Loop() {
				r.Describe(node)
			}
			require.NotEmpty(b, node.Processes[0].Command)
		})
	}
}
