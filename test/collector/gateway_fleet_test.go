// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/fleet/messages"
)

// TestGatewayShowsFleet: a gateway with the shipped configuration shows what the agents of twenty nodes send, and passes it on.
// `make view-fleet` measures it with a thousand.
func TestGatewayShowsFleet(t *testing.T) {
	backend := harness.NewSink()
	t.Cleanup(func() { assert.NoError(t, backend.Close()) })
	endpoint, stop, err := backend.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	gateway, err := harness.StartGateway(harness.Options{Binary: binary(t), Dir: t.TempDir()}, filepath.Join(root(t), "config", "gateway.yaml"), endpoint)
	require.NoError(t, err)
	t.Cleanup(func() {
		code, _, err := gateway.Interrupt(endsWithin)
		assert.NoError(t, err)
		assert.Zero(t, code)
		if t.Failed() {
			t.Logf("the gateway:\n%s", gateway.Output())
		}
	})
	sender, err := messages.NewSender(gateway.GRPC)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, sender.Close()) })

	fleet := messages.Fleet{Nodes: 20, GPUs: 8, Processes: 64, Clusters: 2}
	agents := fleet.All()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	now := time.Now()
	for _, ago := range []time.Duration{time.Minute, 30 * time.Second, 0} {
		_, err := sender.SendRound(ctx, agents, now.Add(-ago))
		require.NoError(t, err)
	}
	want := agents[3].Metrics(now)

	var sums view.List[view.Summary]
	require.NoError(t, gateway.Read(ctx, "/api/v1/gpu/summary", &sums))
	require.Len(t, sums.Items, 1)
	all := sums.Items[0]
	assert.Equal(t, 20, all.Nodes)
	assert.Equal(t, 160, all.GPUs)
	assert.Equal(t, 160, all.Healthy)
	assert.Equal(t, 20*64, *all.Processes)
	assert.InDelta(t, 160*float64(messages.Memory), *all.Memory.Total, 0)

	names := map[string]bool{}
	for target := "/api/v1/gpu/nodes?limit=7"; target != ""; {
		var page view.List[*view.Node]
		require.NoError(t, gateway.Read(ctx, target, &page))
		assert.Equal(t, 20, page.Total)
		for _, n := range page.Items {
			assert.False(t, names[n.Name], "%s is on two pages", n.Name)
			names[n.Name] = true
		}
		target = ""
		if page.Next != nil {
			target = "/api/v1/gpu/nodes?limit=7&cursor=" + *page.Next
		}
	}
	assert.Len(t, names, 20)

	requireShownAsSent(t, gateway, messages.Name(3), want)
	var history view.History
	require.NoError(t, gateway.Read(ctx, "/api/v1/gpu/devices/"+messages.ID(3, 0)+"/history?metric=hw.gpu.utilization", &history))
	assert.Len(t, history.Points, 3)

	require.Eventually(t, func() bool { passed, _ := backend.Messages(); return passed == 3*len(agents) }, patience, tick, "what is passed on")
	assert.Empty(t, gateway.Complaints())
}

// requireShownAsSent requires that the API shows a node as its last message has it.
func requireShownAsSent(t *testing.T, gateway *harness.Gateway, name string, message pmetric.Metrics) {
	t.Helper()
	var node view.Node
	require.NoError(t, gateway.Read(t.Context(), "/api/v1/gpu/nodes/"+name, &node))
	points := otlptest.Points(message)
	value := func(metric string, pairs ...string) float64 {
		t.Helper()
		for _, p := range otlptest.Of(points, metric) {
			matches := true
			for i := 0; i < len(pairs); i += 2 {
				matches = matches && p.Attributes[pairs[i]] == pairs[i+1]
			}
			if matches {
				return p.Value
			}
		}
		require.FailNow(t, "no such point", "%s %s", metric, strings.Join(pairs, " "))
		return 0
	}
	require.Len(t, node.GPUs, 8)
	for i, g := range node.GPUs {
		assert.Equal(t, i, *g.Index)
		assert.InDelta(t, value("hw.gpu.utilization", "hw.id", g.ID, "hw.gpu.task", "general"), *g.Utilization.General, 1e-9)
		assert.InDelta(t, value("hw.gpu.memory.usage", "hw.id", g.ID), *g.Memory.Used, 0)
		assert.InDelta(t, value("hw.power", "hw.id", g.ID), *g.Power.Watts, 1e-9)
		assert.InDelta(t, value("hw.temperature", "hw.id", g.ID, "hw.sensor_location", "gpu"), *g.Temperatures[0].Celsius, 0)
		assert.InDelta(t, value("hw.gpu.speed", "hw.id", g.ID, "hw.gpu.clock_domain", "memory"), g.Clocks["memory"], 0)
		assert.Len(t, g.Processes, 8)
		assert.Len(t, g.Containers, 1)
		for _, p := range g.Processes {
			assert.Equal(t, *g.Containers[0].Pod, *p.Pod)
		}
	}
}
