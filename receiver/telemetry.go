// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// readMetrics are the receiver's own metrics about the reads of what the sources of one configuration read.
type readMetrics struct {
	receiver string // its ID
	local    []*localScraper
	fleet    *fleet         // nil without kubernetes_exec
	cluster  *clusterSource // nil without kubernetes_cluster
}

// observe registers the receiver's own metrics about the reads of each source and each remote node.
func (m *readMetrics) observe(t *metadata.TelemetryBuilder) error {
	return errors.Join(
		t.RegisterGpuReadSuccessCallback(func(_ context.Context, o metric.Int64Observer) error {
			m.eachRead(func(r readStat, of metric.MeasurementOption) {
				if r.read {
					o.Observe(asInt(r.success), of)
				}
			})
			return nil
		}),
		t.RegisterGpuReadDurationCallback(func(_ context.Context, o metric.Float64Observer) error {
			m.eachRead(func(r readStat, of metric.MeasurementOption) {
				if r.read && r.duration > 0 {
					o.Observe(r.duration.Seconds(), of)
				}
			})
			return nil
		}),
		t.RegisterGpuReadAgeCallback(func(_ context.Context, o metric.Float64Observer) error {
			m.eachRead(func(r readStat, of metric.MeasurementOption) {
				if !r.good.IsZero() {
					o.Observe(time.Since(r.good).Seconds(), of)
				}
			})
			return nil
		}),
		t.RegisterGpuExecsThrottledCallback(m.eachCluster(func(c *kubeexec.ClusterStats) gpu.Opt[int64] { return gpu.Some(c.Throttled) })),
		t.RegisterGpuExecsSkippedCallback(m.eachCluster(func(c *kubeexec.ClusterStats) gpu.Opt[int64] { return gpu.Some(c.Skipped) })),
		t.RegisterGpuShardsHeldCallback(m.eachCluster(func(c *kubeexec.ClusterStats) (held gpu.Opt[int64]) {
			if c.Election != nil {
				held = gpu.Some(int64(len(c.Election.Held)))
			}
			return held
		})),
		t.RegisterGpuShardReplicasCallback(m.eachCluster(func(c *kubeexec.ClusterStats) (alive gpu.Opt[int64]) {
			if c.Election != nil {
				alive = gpu.Some(int64(c.Election.Replicas))
			}
			return alive
		})),
	)
}

// eachRead calls observe with the outcome and the attributes of each local source, of the view of a cluster, and of each
// remote node. There are no more of them than the clusters have nodes with GPUs.
func (m *readMetrics) eachRead(observe func(readStat, metric.MeasurementOption)) {
	for _, l := range m.local {
		observe(l.stats.get(), l.labels)
	}
	if m.cluster != nil {
		of := []attribute.KeyValue{attribute.String("scraper", clusterKey)}
		if name := m.cluster.host.ClusterName; name != "" {
			of = append(of, attribute.String("k8s.cluster.name", name))
		}
		observe(m.cluster.stats.get(), m.labels(of...))
	}
	if m.fleet == nil {
		return
	}
	for _, cluster := range m.fleet.stats() {
		stat := readStat{read: cluster.Known, success: cluster.Failure == nil, good: cluster.LastGood}
		observe(stat, m.labels(attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", cluster.Name)))
		for i := range cluster.Nodes {
			n := &cluster.Nodes[i]
			stat := readStat{read: n.Read, success: n.Success, duration: n.Duration, good: n.LastGood}
			if n.Unreadable != "" {
				stat.read, stat.success, stat.duration = true, false, 0 // the last read was long ago
			}
			observe(stat, m.labels(attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", cluster.Name),
				attribute.String("k8s.node.name", n.Node), attribute.String("hw.vendor", string(n.Vendor))))
		}
	}
}

func (m *readMetrics) eachCluster(of func(*kubeexec.ClusterStats) gpu.Opt[int64]) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		if m.fleet == nil {
			return nil
		}
		clusters := m.fleet.stats()
		for i := range clusters {
			if v, ok := of(&clusters[i]).Get(); ok {
				o.Observe(v, m.labels(attribute.String("k8s.cluster.name", clusters[i].Name)))
			}
		}
		return nil
	}
}

func (m *readMetrics) labels(more ...attribute.KeyValue) metric.MeasurementOption {
	return labels(m.receiver, more...)
}

func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
