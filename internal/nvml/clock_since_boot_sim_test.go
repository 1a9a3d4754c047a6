// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A driver that counts the time since boot has nothing newer than a time since 1970: with that, every process would be idle for ever.
// Which clock it has shows in its samples.
func TestProcessSamplesSinceBoot(t *testing.T) {
	for name, want := range map[string]gpu.Group{
		"with the GPU's own samples": gpu.GroupAll,
		"processes alone":            gpu.GroupProcesses | gpu.GroupProcessUtilization,
	} {
		for _, clock := range []string{"boot", "epoch"} {
			t.Run(name+", "+clock, func(t *testing.T) {
				// Idle until 20 s, with an empty ring, as a GPU that is not sampled while nothing runs.
				b := start(t, "gpus = 1\ntime = manual\nclock = "+clock+"\n[gpu 0]\nsample.period = 0.2\nsample.history = 0\n"+
					"[process p]\ngpu = 0\npid = 51003\nmemory = 2Gi\nsm = steps(0:0, 21:55)", WithInterval(10*time.Second), want)
				read := func(seconds float64) gpu.Opt[float64] {
					b.schedule(seconds, "")
					n := b.read()
					require.Len(t, n.Processes, 1)
					return n.Processes[0].Utilization[gpu.TaskGeneral]
				}
				read(0)
				approx0(t, read(10))
				read(30)
				for _, seconds := range []float64{40, 50, 60} {
					approx(t, 0.55, read(seconds), "of the process")
				}
			})
		}
	}
}
