// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
)

// observe registers the receiver's own metrics about the reads of each source and each remote node.
func (s *sources) observe() error {
	t := s.telemetry
	return errors.Join(
		t.RegisterGpuReadSuccessCallback(func(_ context.Context, o metric.Int64Observer) error {
			s.eachRead(func(r readStat, labelSet metric.MeasurementOption) {
				if r.read {
					o.Observe(asInt(r.success), labelSet)
				}
			})
			return nil
		}),
		t.RegisterGpuReadDurationCallback(func(_ context.Context, o metric.Float64Observer) error {
			s.eachRead(func(r readStat, labelSet metric.MeasurementOption) {
				if r.read && r.duration > 0 {
					o.Observe(r.duration.Seconds(), labelSet)
				}
			})
			return nil
		}),
		t.RegisterGpuReadAgeCallback(func(_ context.Context, o metric.Float64Observer) error {
			s.eachRead(func(r readStat, labelSet metric.MeasurementOption) {
				if !r.good.IsZero() {
					o.Observe(time.Since(r.good).Seconds(), labelSet)
				}
			})
			return nil
		}),
		t.RegisterGpuExecsThrottledCallback(s.eachCluster(func(c *kubeexec.ClusterStats) gpu.Opt[int64] { return gpu.Some(c.Throttled) })),
		t.RegisterGpuExecsSkippedCallback(s.eachCluster(func(c *kubeexec.ClusterStats) gpu.Opt[int64] { return gpu.Some(c.Skipped) })),
		t.RegisterGpuShardsHeldCallback(s.eachCluster(func(c *kubeexec.ClusterStats) (shards gpu.Opt[int64]) {
			if c.Election != nil {
				shards = gpu.Some(int64(len(c.Election.Held)))
			}
			return shards
		})),
		t.RegisterGpuShardReplicasCallback(s.eachCluster(func(c *kubeexec.ClusterStats) (alive gpu.Opt[int64]) {
			if c.Election != nil {
				alive = gpu.Some(int64(c.Election.Replicas))
			}
			return alive
		})),
	)
}

// eachRead calls observe with the outcome and the attributes of each local source, of the view of a cluster, and of each
// remote node. There are no more of them than the clusters have nodes with GPUs.
func (s *sources) eachRead(observe func(readStat, metric.MeasurementOption)) {
	for _, l := range s.local {
		observe(l.stats.get(), l.labels)
	}
	if s.cluster != nil {
		attributes := []attribute.KeyValue{attribute.String("scraper", clusterKey)}
		if name := s.cluster.host.ClusterName; name != "" {
			attributes = append(attributes, attribute.String("k8s.cluster.name", name))
		}
		observe(s.cluster.stats.get(), labels(s.receiver, attributes...))
	}
	if s.fleet == nil {
		return
	}
	for _, cluster := range s.fleet.reader.Stats() {
		stat := readStat{read: cluster.Known, success: cluster.Failure == nil, good: cluster.LastGood}
		observe(stat, labels(s.receiver, attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", cluster.Name)))
		for i := range cluster.Nodes {
			n := &cluster.Nodes[i]
			stat := readStat{read: n.Read, success: n.Success, duration: n.Duration, good: n.LastGood}
			if n.Unreadable != "" {
				stat.read, stat.success, stat.duration = true, false, 0 // the last read was long ago
			}
			observe(stat, labels(s.receiver, attribute.String("scraper", fleetKey), attribute.String("k8s.cluster.name", cluster.Name),
				attribute.String("k8s.node.name", n.Node), attribute.String("hw.vendor", string(n.Vendor))))
		}
	}
}

func (s *sources) eachCluster(value func(*kubeexec.ClusterStats) gpu.Opt[int64]) metric.Int64Callback {
	return func(_ context.Context, o metric.Int64Observer) error {
		if s.fleet == nil {
			return nil
		}
		clusters := s.fleet.reader.Stats()
		for i := range clusters {
			if v, ok := value(&clusters[i]).Get(); ok {
				o.Observe(v, labels(s.receiver, attribute.String("k8s.cluster.name", clusters[i].Name)))
			}
		}
		return nil
	}
}

func asInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// readStats has the outcome of the reads of one source. It can be asked while a read hangs.
type readStats struct {
	mu   sync.Mutex
	last readStat
	due  time.Time // when the read in progress should have ended; zero without one
}

type readStat struct {
	read     bool // there was a read; the other fields mean nothing before
	success  bool
	duration time.Duration
	good     time.Time // when the last successful read began; zero without one
}

// begin notes that a read begins, which its context bounds.
func (s *readStats) begin(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due, _ = ctx.Deadline()
}

// end notes the end of a read.
func (s *readStats) end(start time.Time, success bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due = time.Time{}
	s.last.read, s.last.success, s.last.duration = true, success, time.Since(start)
	if success {
		s.last.good = start
	}
}

// get returns the outcome of the last read, or of the one in progress if it is overdue.
func (s *readStats) get() readStat {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.last
	if !s.due.IsZero() && time.Now().After(s.due) {
		last.read, last.success, last.duration = true, false, 0
	}
	return last
}

// labels returns attributes with the receiver among them: a collector may have several receivers with the same scraper.
func labels(receiver string, more ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(append(more, attribute.String("receiver", receiver))...))
}
