// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// The calls for each GPU and read with the default metrics and one process: docs/operate/performance.md has these numbers. One call more, of the whole
// machine, counts the GPUs.
func TestCallsOfDefaultMetrics(t *testing.T) {
	counters, err := nvmlsim.OpenCounters(simulator(t).Full)
	require.NoError(t, err)
	metrics, events := metadata.DefaultMetricsConfig(), metadata.DefaultEventsConfig()
	groups := record.Wanted(&metrics, &events, true)
	for board, want := range map[string]uint64{"h100": 25, "a100": 24, "b200": 25, "gh200": 24, "gb10": 20, "turing": 25, "geforce": 24} {
		t.Run(board, func(t *testing.T) {
			b := start(t, "gpus = 1\ntime = manual\n[gpu 0]\nboard = "+board+"\n[process p]\ngpu = 0\npid = 100\nsm = 1", groups)
			for i := range 3 {
				b.schedule(float64(10*(i+1)), "")
				b.read()
			}
			b.schedule(40, "")
			counters.Reset()
			b.read()
			assert.Zero(t, counters.TotalErrors())
			assert.Equal(t, want+1, counters.TotalCalls())
		})
	}
}
