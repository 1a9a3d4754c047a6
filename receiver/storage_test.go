// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumererror"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgpu/gpureceiver/internal/checkpoint/checkpointtest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadatatest"
)

// storageHost is a host with extensions.
type storageHost map[component.ID]component.Component

func (h storageHost) GetExtensions() map[component.ID]component.Component { return h }

var fileStorage = component.MustNewIDWithName("file_storage", "events")

// keeps gives the rig a storage.
func (r *rig) keeps(disk *checkpointtest.Storage) {
	r.cfg.Storage = &fileStorage
	r.host = storageHost{fileStorage: disk}
}

// refusing is a consumer of logs that answers with an error until it is nil.
type refusing struct {
	consumertest.LogsSink
	mu       sync.Mutex
	err      error
	requests int
}

func (c *refusing) answer(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *refusing) calls() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

func (c *refusing) ConsumeLogs(ctx context.Context, logs plog.Logs) error {
	c.mu.Lock()
	c.requests++
	err := c.err
	c.mu.Unlock()
	if err != nil {
		logs.ResourceLogs().RemoveIf(func(plog.ResourceLogs) bool { return true }) // it may change what it refuses
		return err
	}
	return c.LogsSink.ConsumeLogs(ctx, logs)
}

func (r *rig) newLogsInto(next consumer.Logs) component.Component {
	r.t.Helper()
	l, err := r.factory.createLogs(r.t.Context(), r.set, r.cfg, next)
	require.NoError(r.t, err)
	return l
}

func uidOf(record plog.LogRecord) string {
	uid, _ := record.Attributes().Get("log.record.uid")
	return uid.Str()
}

// waiting returns the number of records that wait in the storage.
func (r *rig) waiting() int {
	for _, s := range r.sources() {
		if s.keeper != nil {
			return s.keeper.store.Waiting()
		}
	}
	return 0
}

// killed returns the storage of a receiver whose consumer refuses all, as it is when the process is killed.
func killed(t *testing.T, devices ...gpu.Device) *checkpointtest.Storage {
	t.Helper()
	disk := &checkpointtest.Storage{}
	r := newRig(t, map[string]gpu.Source{"nvml": always(devices...)})
	r.keeps(disk)
	next := &refusing{err: errors.New("away")}
	r.run(r.newMetrics(), r.newLogsInto(next))
	eventually(t, func() bool { return next.calls() > 0 }, "a refused message")
	return disk.Copy()
}

// What the next consumer has not accepted is sent after a kill, and what was known is not sent as new.
func TestEventsOutliveAKill(t *testing.T) {
	for _, signals := range []string{"metrics and logs", "logs"} {
		t.Run(signals, func(t *testing.T) {
			disk := killed(t, lost("GPU-1"), healthy("GPU-2"))
			var uids []string
			for range 2 { // killed again, before the record was removed from the storage
				source := always(lost("GPU-1"), lost("GPU-2"))
				r := newRig(t, map[string]gpu.Source{"nvml": source})
				r.keeps(disk.Copy())
				l := r.newLogs()
				if signals != "logs" {
					r.run(r.newMetrics())
				}
				r.run(l)
				eventually(t, func() bool { return r.logs.LogRecordCount() == 2 && source.reads.Load() > 5 }, "both")
				got := records(r.logs)
				assert.Equal(t, "hw.gpu.status GPU-1: - to failed, Error", transition(got[0]))
				assert.Equal(t, "hw.gpu.status GPU-2: ok to failed, Error", transition(got[1]))
				uids = append(uids, uidOf(got[0]))
				_, marked := got[0].Attributes().Get("hw.gpu.event.last_seen_time")
				assert.False(t, marked)
				_, marked = got[1].Attributes().Get("hw.gpu.event.last_seen_time")
				assert.True(t, marked, "it failed while nothing was read")
				eventually(t, func() bool { return r.waiting() == 0 }, "all are accepted")
			}
			assert.Equal(t, uids[0], uids[1])
		})
	}
}

// What is refused is sent again until it is accepted, in order, with one line of the log.
func TestRefusedEventsAreSentAgain(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": &fakeSource{next: func(_ context.Context, read int) (*gpu.Node, error) {
		switch read { // no GPU changes so often that it is summed
		case 2, 4:
			return nodeOf(lost("GPU-1"), healthy("GPU-2")), nil
		case 6, 8:
			return nodeOf(healthy("GPU-1"), lost("GPU-2")), nil
		}
		return nodeOf(healthy("GPU-1"), healthy("GPU-2")), nil
	}}})
	disk := &checkpointtest.Storage{}
	r.keeps(disk)
	next := &refusing{err: errors.New("away")}
	m, l := r.newMetrics(), r.newLogsInto(next)
	require.NoError(t, m.Start(t.Context(), r.host))
	require.NoError(t, l.Start(t.Context(), r.host))
	eventually(t, func() bool { return r.waiting() == 8 && next.calls() > 1 }, "all wait")
	assert.Len(t, r.messages("Logs pipeline refused events"), 1)
	next.answer(nil)
	eventually(t, func() bool { return next.LogRecordCount() == 8 }, "all arrive")
	for i, record := range records(&next.LogsSink) {
		state, _ := record.Attributes().Get("hw.state")
		assert.Equal(t, []string{"failed", "ok"}[i%2], state.Str())
	}
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
	assert.True(t, disk.Closed())
}

// measured has the receiver's own metrics collected.
func (r *rig) measured() *componenttest.Telemetry {
	telemetry := componenttest.NewTelemetry()
	r.t.Cleanup(func() { require.NoError(r.t, telemetry.Shutdown(context.Background())) })
	logger := r.set.Logger
	r.set = metadatatest.NewSettings(telemetry)
	r.set.Logger = logger
	return telemetry
}

// counts returns the events that were dropped, by attributes.
func counts(t *testing.T, telemetry *componenttest.Telemetry) map[string]int64 {
	t.Helper()
	metric, err := telemetry.GetMetric("otelcol_gpu_events_dropped")
	require.NoError(t, err)
	got := map[string]int64{}
	for _, p := range metric.Data.(metricdata.Sum[int64]).DataPoints {
		got[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
	}
	return got
}

// What is refused for good is dropped.
func TestEventsRefusedForGood(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
	r.keeps(&checkpointtest.Storage{})
	telemetry := r.measured()
	next := &refusing{err: consumererror.NewPermanent(errors.New("too large"))}
	r.run(r.newMetrics(), r.newLogsInto(next))
	eventually(t, func() bool { return len(r.messages("Events dropped")) == 1 && r.waiting() == 0 }, "it is dropped")
	assert.Equal(t, map[string]int64{"receiver=" + r.set.ID.String(): 1, "receiver=" + r.set.ID.String() + ",scraper=nvml": 0}, counts(t, telemetry))
}

// What waits at an orderly shutdown is sent after the next start, and the shutdown does not wait for a consumer that is away.
func TestRefusedEventsOutliveAShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := &checkpointtest.Storage{}
		r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
		r.keeps(disk)
		r.factory.waits = defaultWaits()
		next, err := consumer.NewLogs(func(ctx context.Context, _ plog.Logs) error {
			<-ctx.Done() // an exporter without a queue that retries for ever
			return ctx.Err()
		})
		require.NoError(t, err)
		m, l := r.newMetrics(), r.newLogsInto(next)
		require.NoError(t, m.Start(t.Context(), r.host))
		require.NoError(t, l.Start(t.Context(), r.host))
		eventually(t, func() bool { return r.waiting() == 1 }, "it waits")
		require.NoError(t, m.Shutdown(t.Context()))
		require.NoError(t, l.Shutdown(t.Context()))
		eventually(t, func() bool { return len(r.messages("Events are kept until the next start")) == 1 }, "it is kept")

		r = newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
		r.keeps(disk.Copy())
		r.run(r.newMetrics(), r.newLogs())
		eventually(t, func() bool { return r.logs.LogRecordCount() == 1 }, "it arrives")
	})
}

// XIDs that are summed when the process is killed are sent as a sum.
func TestSumsOutliveAKill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := &watchedSource{Source: always(healthy("GPU-1")), found: make(chan func([]gpu.Event), 1)}
		r := newRig(t, map[string]gpu.Source{"nvml": source})
		r.cfg.ControllerConfig.CollectionInterval = time.Hour
		disk := &checkpointtest.Storage{}
		r.keeps(disk)
		r.run(r.newMetrics(), r.newLogs())
		found := <-source.found
		for range 4 {
			found([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(100, 0), DeviceID: "GPU-1", XID: 31}})
		}
		eventually(t, func() bool { return r.logs.LogRecordCount() == 1 && r.waiting() == 0 }, "the first")

		again := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
		var copied *checkpointtest.Storage
		eventually(t, func() bool { // until the sum is in it
			copied = disk.Copy()
			state, err := copied.Get(t.Context(), "state/nvml")
			return err == nil && bytes.Contains(state, []byte(`"open"`))
		}, "an open sum")
		again.keeps(copied)
		again.run(again.newMetrics(), again.newLogs())
		eventually(t, func() bool { return again.logs.LogRecordCount() == 1 }, "the sum")
		_, summed := records(again.logs)[0].Attributes().Get("hw.gpu.event.count")
		assert.True(t, summed)
	})
}

// A storage that fails is logged once, and the events are sent.
func TestEventsWithoutASpaceLeft(t *testing.T) {
	disk := &checkpointtest.Storage{}
	disk.Fail(errors.New("no space left on device"))
	source := always(lost("GPU-1"))
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.keeps(disk)
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return r.logs.LogRecordCount() == 1 && source.reads.Load() > 5 }, "the event")
	assert.Len(t, r.messages("are not stored"), 1)
}

func TestStorageThatIsNotThere(t *testing.T) {
	for want, host := range map[string]storageHost{
		"storage: there is no extension file_storage/events":            {},
		"storage: file_storage/events is not a storage extension":       {fileStorage: nopExtension{}},
		"storage: open file_storage/events: the directory is not there": {fileStorage: brokenStorage{}},
	} {
		r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
		r.cfg.Storage, r.host = &fileStorage, host
		l := r.newLogs()
		require.ErrorContains(t, l.Start(t.Context(), r.host), want)
		require.NoError(t, l.Shutdown(t.Context()))
	}
	r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
	r.cfg.Storage = &fileStorage
	r.run(r.newMetrics())
	assert.Len(t, r.messages("storage: has no effect"), 1, "metrics alone need none")
}

type nopExtension struct {
	component.StartFunc
	component.ShutdownFunc
}

// brokenStorage cannot be opened.
type brokenStorage struct{ nopExtension }

func (brokenStorage) GetClient(context.Context, component.Kind, component.ID, string) (storage.Client, error) {
	return nil, errors.New("the directory is not there")
}

// The key equals the key of other receivers.
func TestStorageConfig(t *testing.T) {
	cfg := createDefaultConfig().(*Config)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{"storage": "file_storage/events"}).Unmarshal(cfg))
	require.NoError(t, cfg.Validate())
	assert.Equal(t, &fileStorage, cfg.Storage)
	for _, wrong := range []any{map[string]any{"directory": "/tmp"}, []any{"file_storage"}, "not an id/", 3} {
		require.ErrorContains(t, confmap.NewFromStringMap(map[string]any{"storage": wrong}).Unmarshal(createDefaultConfig()), "storage", wrong)
	}
}

// The number of records that wait is a metric.
func TestEventsWaitingMetric(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always(lost("GPU-1"))})
	telemetry := r.measured()
	r.keeps(&checkpointtest.Storage{})
	r.run(r.newMetrics(), r.newLogsInto(&refusing{err: errors.New("away")}))
	eventually(t, func() bool { return r.waiting() == 1 }, "it waits")
	assert.Equal(t, map[string]float64{"receiver=" + r.set.ID.String(): 1}, own(t, telemetry, "otelcol_gpu_events_waiting"))
}
