// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// killed is a collector with storage, on a simulated node whose GPUs fail and whose processes come and go, and its backend, which is away at times.
// What the documentation says of each event ("After a kill" in docs/reference/events.md) is checked on what has arrived.
type killed struct {
	*node
	random *rand.Rand
	away   atomic.Bool
	url    string // of the backend

	bad       map[int]bool    // the GPUs with a row that waits for its remapping: predicted_failure
	processes map[int64]bool  // the processes that run now
	number    int64           // of the last XID or process: none is used twice
	raised    map[int][]int64 // the XIDs of each run, in order
	run       int
}

const killConfiguration = `
receivers:
  gpu:
    collection_interval: 500ms
    initial_delay: 0s
    timeout: 500ms
    storage: file_storage/events
    events: {process.gpu.started: {enabled: true}, process.gpu.exited: {enabled: true}}
    scrapers: {nvml: {library_path: LIBRARY}}
exporters:
  otlp_http: # no queue and no retries: what it has accepted has arrived
    endpoint: SINK
    sending_queue: {enabled: false}
    retry_on_failure: {enabled: false}
  otlp_http/metrics: {endpoint: SINK, sending_queue: {enabled: false}, retry_on_failure: {enabled: false}}
extensions:
  file_storage/events: {directory: STORAGE, create_directory: true}
service:
  extensions: [file_storage/events]
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: TELEMETRY}}}}]}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [otlp_http/metrics]}
    logs: {receivers: [gpu], exporters: [otlp_http]}
`

const killGPUs = 4

func prepareKilled(t *testing.T, seed uint64) *killed {
	t.Helper()
	binary(t)
	k := &killed{
		node: prepare(t, spec{scenario: fmt.Sprintf("gpus = %d\n[gpu *]\nboard = h100", killGPUs)}), random: rand.New(rand.NewPCG(seed, 0)),
		bad: map[int]bool{}, processes: map[int64]bool{}, number: 1000, raised: map[int][]int64{},
	}
	sink, err := url.Parse(k.sink.URL)
	require.NoError(t, err)
	proxy := httputil.NewSingleHostReverseProxy(sink)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if k.away.Load() && r.URL.Path == "/v1/logs" {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	k.url = server.URL
	return k
}

// start starts a collector on what the last one has left.
func (k *killed) start() {
	t := k.t
	t.Helper()
	telemetry := freeAddress(t)
	k.page = "http://" + telemetry + "/metrics"
	config := strings.NewReplacer("LIBRARY", simulator(t).Full, "SINK", k.url, "STORAGE", filepath.Join(k.dir, "storage"),
		"TELEMETRY", telemetry[strings.LastIndexByte(telemetry, ':')+1:]).Replace(killConfiguration)
	process, err := harness.Collector(harness.Options{Binary: binary(t), Dir: k.dir, Env: k.environment()}, config)
	require.NoError(t, err)
	k.process = process
	k.run++
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() && process == k.process {
			t.Logf("the last run:\n%s", process.Output())
		}
		assert.NotContains(t, process.Output(), "panic:")
	})
}

// apply has the simulator show what there is now, and an XID.
func (k *killed) apply(xid int64) {
	k.t.Helper()
	var text strings.Builder
	for _, gpu := range slices.Sorted(maps.Keys(k.bad)) {
		fmt.Fprintf(&text, "[gpu %d]\nremapped.pending = 1\n", gpu)
	}
	for _, pid := range slices.Sorted(maps.Keys(k.processes)) {
		fmt.Fprintf(&text, "[process p%d]\npid = %d\ngpu = %d\nmemory = 1073741824\n", pid, pid, killGPUs-1)
	}
	if xid != 0 {
		fmt.Fprintf(&text, "[event x%d]\ngpu = %d\nxid = %d\n", xid, killGPUs-1, xid)
	}
	if k.process == nil || !k.process.Running() {
		require.NoError(k.t, k.control.Write(text.String()))
		return
	}
	k.set(text.String())
}

// change makes one change at random. XIDs are raised while a collector runs: the driver keeps none.
func (k *killed) change(running bool) {
	k.t.Helper()
	k.number++
	switch gpu, kind := k.random.IntN(killGPUs-1), k.random.IntN(4); {
	case kind == 0 && k.bad[gpu]:
		delete(k.bad, gpu)
	case kind == 0:
		k.bad[gpu] = true
	case kind == 1 && len(k.processes) > 0:
		delete(k.processes, slices.Sorted(maps.Keys(k.processes))[k.random.IntN(len(k.processes))])
	case kind == 1 || kind == 2:
		k.processes[k.number] = true
	case running:
		k.raise()
		return
	}
	k.apply(0)
}

// raise raises an XID with a number of its own on the last GPU.
func (k *killed) raise() {
	k.t.Helper()
	k.number++
	k.raised[k.run] = append(k.raised[k.run], k.number)
	k.apply(k.number)
}

// waiting returns the number of records that wait in the collector; -1 where it does not answer yet.
func (k *killed) waiting() int {
	code, body, err := harness.Get(k.t.Context(), k.page)
	if err != nil || code != http.StatusOK {
		return -1
	}
	page, err := harness.ParsePage(body)
	require.NoError(k.t, err)
	for _, s := range page {
		if strings.HasPrefix(s.Name, "otelcol_gpu_events_waiting") {
			return int(s.Value)
		}
	}
	return -1
}

// arrived returns the records without those that arrived again, in the order of their arrival. What arrives again is the same.
func (k *killed) arrived() []plog.LogRecord {
	k.t.Helper()
	var records []plog.LogRecord
	byUID := map[string]plog.LogRecord{}
	for _, record := range k.sink.Events() {
		uid := text(record, "log.record.uid")
		require.NotEmpty(k.t, uid)
		if before, again := byUID[uid]; again {
			assert.Equal(k.t, before.Attributes().AsRaw(), record.Attributes().AsRaw(), "it has arrived again")
			assert.Equal(k.t, before.Timestamp(), record.Timestamp())
			assert.Equal(k.t, before.Body().AsString(), record.Body().AsString())
			continue
		}
		byUID[uid] = record
		records = append(records, record)
	}
	return records
}

func text(record plog.LogRecord, attribute string) string {
	v, ok := record.Attributes().Get(attribute)
	if !ok {
		return ""
	}
	return v.AsString()
}

// settled reports whether the last records of GPUs and processes say what there is: a read that is late has nothing of some.
func (k *killed) settled() bool {
	states, running := map[string]string{}, map[string]bool{}
	for _, record := range k.sink.Events() {
		switch record.EventName() {
		case "hw.gpu.status":
			states[text(record, "hw.id")] = text(record, "hw.state")
		case "process.gpu.started":
			running[text(record, "process.pid")] = true
		case "process.gpu.exited":
			delete(running, text(record, "process.pid"))
		}
	}
	for i := range killGPUs {
		if cmp.Or(states[gpu(i)], "ok") != k.want(i) {
			return false
		}
	}
	for pid := range running {
		if number, err := strconv.ParseInt(pid, 10, 64); err != nil || !k.processes[number] {
			return false
		}
	}
	return true
}

// want is the state of a GPU.
func (k *killed) want(gpu int) string {
	if k.bad[gpu] {
		return "predicted_failure"
	}
	return "ok"
}

// check checks all that has arrived against what there was.
func (k *killed) check() {
	t := k.t
	t.Helper()
	states, started, exited := map[string]string{}, map[string]int{}, map[string]int{}
	xids := map[int64]bool{}
	for _, record := range k.arrived() {
		switch record.EventName() {
		case "hw.gpu.status":
			id := text(record, "hw.id")
			assert.Equal(t, cmp.Or(states[id], "ok"), cmp.Or(text(record, "hw.gpu.previous_state"), "ok"), "%s: no change is missing, and none is there twice", id)
			states[id] = text(record, "hw.state")
		case "process.gpu.started":
			started[text(record, "process.pid")]++
		case "process.gpu.exited":
			exited[text(record, "process.pid")]++
		case "hw.gpu.xid":
			xid, err := strconv.ParseInt(text(record, "hw.gpu.xid"), 10, 64)
			require.NoError(t, err)
			assert.False(t, xids[xid], "XID %d is there twice", xid)
			xids[xid] = true
		}
	}
	for i := range killGPUs {
		assert.Equal(t, k.want(i), cmp.Or(states[gpu(i)], "ok"), "GPU %d is what its last record says", i)
	}
	for pid, n := range started {
		assert.Equal(t, 1, n, "process %s started", pid)
		number, err := strconv.ParseInt(pid, 10, 64)
		require.NoError(t, err)
		if _, runs := k.processes[number]; !runs {
			assert.Equal(t, 1, exited[pid], "process %s exited", pid)
		}
	}
	for pid, n := range exited {
		assert.Equal(t, 1, n, "process %s exited", pid)
		assert.Equal(t, 1, started[pid], "process %s exited, and had started", pid)
	}
	total := 0
	for run, raised := range k.raised {
		total += len(raised)
		missing := int64(0)
		for _, xid := range raised {
			if !xids[xid] {
				missing = cmp.Or(missing, xid)
				continue
			}
			assert.Zero(t, missing, "run %d: XID %d has arrived, and an earlier one has not", run, xid)
		}
	}
	t.Logf("%d runs: %d of %d XIDs, %d processes, %d records, %d of them arrived again", k.run, len(xids), total, len(started), len(k.arrived()),
		len(k.sink.Events())-len(k.arrived()))
	require.NotEmpty(t, xids)
	require.NotEmpty(t, started)
	require.NotEmpty(t, states)
}

// A collector that is killed at random points loses nothing that the documentation says can be known, and sends nothing as new that it knew.
func TestEventsOutliveKills(t *testing.T) {
	t.Parallel()
	kills, err := strconv.Atoi(cmp.Or(os.Getenv("GPURECEIVER_KILLS"), "20"))
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("GPURECEIVER_SEED"); given != "" {
		seed, err = strconv.ParseUint(given, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("GPURECEIVER_SEED=%d", seed)
	k := prepareKilled(t, seed)
	k.bad[0] = true // its record shows that the first read is stored: what that read has of processes are no events
	k.apply(0)
	k.start()
	eventually(t, patience, "the first record", func() bool { return len(k.arrived()) > 0 })
	for range kills {
		k.away.Store(k.random.IntN(2) == 0)
		for range k.random.IntN(8) {
			k.change(true)
			time.Sleep(time.Duration(k.random.IntN(400)) * time.Millisecond)
		}
		before := k.arrived() // first: what waits now and has arrived is one message at most
		waits := k.waiting()
		k.process.Kill()
		k.apply(0) // the next process would have the last XID again
		for range k.random.IntN(3) {
			k.change(false)
		}
		k.start()
		k.read()
		if waits > 0 {
			k.away.Store(false)
			eventually(t, patience, "what waited arrives", func() bool { return k.waiting() == 0 })
			assert.GreaterOrEqual(t, len(k.arrived()), len(before)+waits-lastMessage(before), "what waited, but for a message that had arrived")
		}
	}
	k.away.Store(false)
	k.raise()
	last := strconv.FormatInt(k.number, 10)
	eventually(t, patience, "the last XID", func() bool {
		return slices.ContainsFunc(k.sink.Events(), func(r plog.LogRecord) bool { return text(r, "hw.gpu.xid") == last })
	})
	k.read()
	eventually(t, patience, "the records of what there is", k.settled)
	k.interrupt()
	k.check()
}

// read waits for two messages of metrics: the second one's read began after the call.
func (k *killed) read() { k.scrapes(2) }

// lastMessage returns the number of records of the last message that arrived: those that were observed together.
func lastMessage(records []plog.LogRecord) (n int) {
	for _, r := range records {
		if r.ObservedTimestamp() == records[len(records)-1].ObservedTimestamp() {
			n++
		}
	}
	return n
}
