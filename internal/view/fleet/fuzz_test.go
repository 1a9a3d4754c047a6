// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Whatever a message has, the fleet stays within its bounds and can be shown.
func FuzzMetrics(f *testing.F) {
	var marshaler pmetric.ProtoMarshaler
	for _, name := range []string{"a", "b"} { // one resource each: large seeds are slow
		for _, rm := range newMachine(name, 1, 1).read(start).ResourceMetrics().All() {
			part := pmetric.NewMetrics()
			rm.CopyTo(part.ResourceMetrics().AppendEmpty())
			seed, err := marshaler.MarshalMetrics(part)
			require.NoError(f, err)
			f.Add(seed)
		}
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		metrics, err := (&pmetric.ProtoUnmarshaler{}).UnmarshalMetrics(message)
		if err != nil {
			return
		}
		fleet, w := newTestFleet(Settings{MaxNodes: 2, MaxGPUs: 4, MaxProcesses: 4, GoneAfter: time.Hour})
		fleet.ConsumeMetrics(newMachine("a", 1, 1).read(start))
		for range 2 {
			w.pass(time.Minute)
			fleet.ConsumeMetrics(metrics)
			require.Empty(t, violations(fleet))
		}
		for range 3 {
			w.pass(4 * time.Minute)
			fleet.sweep()
			require.Empty(t, violations(fleet))
		}
		w.pass(10 * time.Hour)
		fleet.sweep()
		require.Empty(t, fleet.state.nodes)
		require.Empty(t, fleet.pasts.byID)
		require.Zero(t, fleet.state.uses)
	})
}

// Whatever a log record has, it can be shown.
func FuzzLogs(f *testing.F) {
	seed, err := (&plog.ProtoMarshaler{}).MarshalLogs(eventMessage(onA, start, xid(79, start)))
	require.NoError(f, err)
	f.Add(seed)
	f.Fuzz(func(t *testing.T, message []byte) {
		logs, err := (&plog.ProtoUnmarshaler{}).UnmarshalLogs(message)
		if err != nil {
			return
		}
		fleet, _ := newTestFleet(Settings{MaxEvents: 3})
		fleet.ConsumeLogs(logs)
		once := len(fleet.Events())
		fleet.ConsumeLogs(logs)
		require.GreaterOrEqual(t, once, min(1, len(fleet.Events())))
		require.Empty(t, violations(fleet))
	})
}
