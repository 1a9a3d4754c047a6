// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The events of the last read before a shutdown are sent: the driver reports an XID once, and it is often the reason why the node is
// drained.
func TestLastEventsAreSent(t *testing.T) {
	for _, first := range []string{"metrics", "logs"} {
		t.Run(first, func(t *testing.T) {
			node := nodeOf(healthy("GPU-1"))
			node.Events = []gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 79}}
			source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return node, nil }}
			r := newRig(t, map[string]gpu.Source{"nvml": source})
			r.cfg.ControllerConfig.CollectionInterval = time.Hour
			r.cfg.ControllerConfig.InitialDelay = 0
			l, m := r.newLogs(), r.newMetrics()
			require.NoError(t, l.Start(t.Context(), r.host))
			time.Sleep(5 * tick) // its only tick
			require.NoError(t, m.Start(t.Context(), r.host))
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) == 1 }, "the only read")
			assert.Zero(t, r.logs.LogRecordCount())
			if first == "metrics" {
				require.NoError(t, m.Shutdown(t.Context()))
				require.NoError(t, l.Shutdown(t.Context()))
			} else {
				require.NoError(t, l.Shutdown(t.Context()))
				require.NoError(t, m.Shutdown(t.Context()))
			}
			require.Len(t, records(r.logs), 1)
			assert.Equal(t, "hw.gpu.xid", records(r.logs)[0].EventName())
		})
	}
}

// A receiver of logs that has little to send reports so, and its shutdown does not wait in vain.
func TestLogsOfClusterViewAlone(t *testing.T) {
	r := newRigOf(t, openSource)
	r.cfg.Scrapers = map[string]component.Config{clusterKey: defaultClusterConfig()}
	l := r.newLogs()
	require.Len(t, r.messages("Receiver has few logs: scrapers::kubernetes_cluster has an event when the cluster becomes unreadable"), 1)
	r.run(l)
	r = newRig(t, map[string]gpu.Source{"nvml": always()})
	r.run(r.newLogs())
	assert.Empty(t, r.messages("Receiver has few logs"))
}
