// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// BenchmarkDescribe describes processes that are known already.
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
