// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

const (
	patience = time.Minute // for conditions that are fulfilled soon
	tick     = 5 * time.Millisecond
)

// fakeSource returns the reads that a test defines.
type fakeSource struct {
	next  func(ctx context.Context, read int) (*gpu.Node, error) // reads are counted from 1
	close func() error

	reads  atomic.Int64
	closed atomic.Int64
}

func (s *fakeSource) Read(ctx context.Context) (*gpu.Node, error) {
	return s.next(ctx, int(s.reads.Add(1)))
}

func (s *fakeSource) Close() error {
	s.closed.Add(1)
	if s.close != nil {
		return s.close()
	}
	return nil
}

// always returns the same devices for each read.
func always(devices ...gpu.Device) *fakeSource {
	return &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return nodeOf(devices...), nil }}
}

// nodeOf returns a new node with devices. The reader may change it.
func nodeOf(devices ...gpu.Device) *gpu.Node {
	node := &gpu.Node{Vendor: gpu.NVIDIA, Devices: append([]gpu.Device(nil), devices...)}
	node.Presence[gpu.Visible] = gpu.Some(int64(len(devices)))
	return node
}

func healthy(id string) gpu.Device { return gpu.Device{ID: id, Vendor: gpu.NVIDIA} }

func lost(id string) gpu.Device {
	return gpu.Device{ID: id, Vendor: gpu.NVIDIA, Faults: []gpu.Fault{{Type: gpu.FaultLost, Message: "it fell off the bus"}}}
}

// rig is a factory whose receivers read sources of the test.
type rig struct {
	t       *testing.T
	factory *factory
	cfg     *Config
	set     receiver.Settings
	host    component.Host
	metrics *consumertest.MetricsSink
	logs    *consumertest.LogsSink
	log     *observer.ObservedLogs

	mu     sync.Mutex
	opened []string
	want   gpu.Group
}

// newRig has a source for each scraper by key. It reads at every tick.
func newRig(t *testing.T, sources map[string]gpu.Source) *rig {
	t.Helper()
	r := newRigOf(t, func(key string, _ *Config, _ gpu.Group) (gpu.Source, error) {
		source, ok := sources[key]
		if !ok {
			return nil, errors.New("the test has no such source")
		}
		return source, nil
	})
	r.cfg.Scrapers = map[string]component.Config{}
	for key := range sources {
		r.cfg.Scrapers[key] = scraperKinds[key].defaultConfig()
	}
	return r
}

func newRigOf(t *testing.T, open opener) *rig {
	t.Helper()
	core, log := observer.New(zap.InfoLevel)
	r := &rig{
		t: t, cfg: createDefaultConfig().(*Config), set: receivertest.NewNopSettings(metadata.Type),
		host: componenttest.NewNopHost(), metrics: new(consumertest.MetricsSink), logs: new(consumertest.LogsSink), log: log,
	}
	r.set.ID, r.set.Logger = component.NewID(metadata.Type), zap.New(withoutStart{core})
	r.cfg.ControllerConfig.CollectionInterval = tick
	r.cfg.ControllerConfig.InitialDelay = 0
	r.cfg.ControllerConfig.Timeout = patience
	r.cfg.Attribution.NodeName = "node-a"
	r.factory = &factory{waits: patient(), connect: connect, open: func(key string, cfg *Config, want gpu.Group) (gpu.Source, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.opened = append(r.opened, key)
		r.want = want
		return open(key, cfg, want)
	}}
	return r
}

// withoutStart drops the lines on what the start has found: most tests are about what follows.
type withoutStart struct{ zapcore.Core }

// With implements zapcore.Core.
func (c withoutStart) With(fields []zapcore.Field) zapcore.Core {
	return withoutStart{c.Core.With(fields)}
}

// Check implements zapcore.Core.
func (c withoutStart) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if strings.HasPrefix(entry.Message, "Reading ") || strings.HasPrefix(entry.Message, "No GPU found") {
		return checked
	}
	return c.Core.Check(entry, checked)
}

// instances returns what the receivers of each configuration share.
func (r *rig) instances() map[*Config]*instance {
	var all map[*Config]*instance
	_, _, _ = r.factory.instances.Get(&Config{}, func(others map[*Config]*instance) (*instance, error) {
		all = maps.Clone(others)
		return nil, errors.New("only the others are of interest")
	})
	return all
}

// sources returns the sources of each configuration with a receiver that has started.
func (r *rig) sources() map[*Config]*sources {
	all := map[*Config]*sources{}
	for cfg, i := range r.instances() {
		if i.sources != nil {
			all[cfg] = i.sources
		}
	}
	return all
}

// patient returns waits that a busy machine does not use up.
func patient() waits {
	return waits{
		nodeLabels: patience, clusterList: patience, podQueue: patience, read: patience, release: patience, delivery: patience, storage: patience,
	}
}

func (r *rig) newMetrics() receiver.Metrics {
	r.t.Helper()
	return r.newMetricsInto(r.metrics)
}

func (r *rig) newMetricsInto(next consumer.Metrics) receiver.Metrics {
	r.t.Helper()
	m, err := r.factory.createMetrics(r.t.Context(), r.set, r.cfg, next)
	require.NoError(r.t, err)
	return m
}

func (r *rig) newLogs() receiver.Logs {
	r.t.Helper()
	l, err := r.factory.createLogs(r.t.Context(), r.set, r.cfg, r.logs)
	require.NoError(r.t, err)
	return l
}

// run starts components. They end with the test unless the test ends them itself.
func (r *rig) run(components ...component.Component) {
	r.t.Helper()
	for _, c := range components {
		require.NoError(r.t, c.Start(r.t.Context(), r.host))
		r.t.Cleanup(func() { require.NoError(r.t, c.Shutdown(context.Background())) })
	}
}

// eventually waits for a condition that is fulfilled soon.
func eventually(t *testing.T, condition func() bool, subject string) {
	t.Helper()
	require.Eventually(t, condition, patience, time.Millisecond, subject)
}

// messages returns the log lines that contain a text.
func (r *rig) messages(text string) []observer.LoggedEntry {
	return r.log.FilterMessageSnippet(text).All()
}

// counting is a consumer of logs that counts its calls, including empty ones.
type counting struct{ messages atomic.Int64 }

func (c *counting) logs(t *testing.T) consumer.Logs {
	t.Helper()
	l, err := consumer.NewLogs(func(context.Context, plog.Logs) error {
		c.messages.Add(1)
		return nil
	})
	require.NoError(t, err)
	return l
}

func (c *counting) n() int64 { return c.messages.Load() }
