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
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/otelgpu/gpureceiver/internal/attribution/podresources/kubelettest"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// killed is a collector with storage, on a simulated node whose GPUs fail and are lost and whose processes and pods come and go, and its backend,
// which is away at times. It keeps a journal of what it caused. What the documentation says of each event ("After a kill" in
// docs/reference/events.md) is checked against the journal.
type killed struct {
	*node
	random  *rand.Rand
	kubelet *kubelettest.Kubelet
	away    atomic.Bool
	url     string // of the backend

	bad       map[int]bool    // the GPUs with a row that waits for its remapping: predicted_failure
	processes map[int64]bool  // the processes that run now
	pods      map[int]string  // the pods that hold a GPU now, by GPU
	ended     map[string]bool // the pods that held one before
	energy    [killGPUs]int   // what the driver's counters show, in joules
	used      [killGPUs]int   // all that they have grown
	fault     string          // of the driver, while a collector starts
	number    int64           // of the last XID, process or pod: none is used twice
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
    attribution: {pod_resources: {endpoint: "KUBELET", cdi_dirs: []}}
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
		kubelet: kubelettest.New(t), bad: map[int]bool{}, processes: map[int64]bool{}, pods: map[int]string{}, ended: map[string]bool{},
		number: 1000, raised: map[int][]int64{},
	}
	k.kubelet.Start()
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
	config := strings.NewReplacer("LIBRARY", simulator(t).Full, "SINK", k.url, "STORAGE", filepath.Join(k.dir, "storage"), "KUBELET", k.kubelet.Endpoint(),
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
	// The clock of the driver's samples is stepped.
	fmt.Fprintf(&text, "clock = %s\n%s", []string{"epoch", "boot"}[k.random.IntN(2)], k.fault)
	for gpu := range killGPUs {
		fmt.Fprintf(&text, "[gpu %d]\nremapped.pending = %d\nenergy = %s\n", gpu, map[bool]int{true: 1}[k.bad[gpu]], k.joules(gpu))
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

// joules has the energy counter of a GPU grow, and returns what the driver shows: at times the counter starts again, or is not readable.
func (k *killed) joules(gpu int) string {
	grown := k.random.IntN(1000)
	k.used[gpu] += grown
	switch k.random.IntN(20) {
	case 0:
		k.energy[gpu] = grown
	case 1:
		k.energy[gpu] += grown
		return "raw(0xFFFFFFFFFFFFFFFF)"
	case 2:
		k.energy[gpu] += grown
		return "error(UNKNOWN)"
	default:
		k.energy[gpu] += grown
	}
	return strconv.Itoa(k.energy[gpu])
}

// allocate gives a GPU to a new pod, or takes it from the pod that has it.
func (k *killed) allocate(gpuNumber int) {
	if pod, allocated := k.pods[gpuNumber]; allocated {
		delete(k.pods, gpuNumber)
		k.ended[pod] = true
	} else {
		k.pods[gpuNumber] = fmt.Sprintf("pod-%d", k.number)
	}
	var pods []*podresourcesv1.PodResources
	for n, pod := range k.pods {
		pods = append(pods, kubelettest.Pod(pod, kubelettest.Container("main", "nvidia.com/gpu", gpu(n))))
	}
	k.kubelet.Set(pods...)
}

// change makes one change at random. XIDs are raised while a collector runs: the driver keeps none.
func (k *killed) change(running bool) {
	k.t.Helper()
	k.number++
	switch gpu, kind := k.random.IntN(killGPUs-1), k.random.IntN(5); {
	case kind == 0 && k.bad[gpu]:
		delete(k.bad, gpu)
	case kind == 0:
		k.bad[gpu] = true
	case kind == 1 && len(k.processes) > 0:
		delete(k.processes, slices.Sorted(maps.Keys(k.processes))[k.random.IntN(len(k.processes))])
	case kind == 1 || kind == 2:
		k.processes[k.number] = true
	case kind == 3:
		k.allocate(k.random.IntN(killGPUs))
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

// waiting returns the number of records that are queued in the collector; -1 if it does not answer yet.
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
			assert.Equal(k.t, before.EventName(), record.EventName())
			assert.Equal(k.t, before.SeverityNumber(), record.SeverityNumber())
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
	states, running, holding := map[string]string{}, map[string]bool{}, map[string]bool{}
	for _, record := range k.sink.Events() {
		switch record.EventName() {
		case "hw.gpu.status":
			states[text(record, "hw.id")] = text(record, "hw.state")
		case "process.gpu.started":
			running[text(record, "process.pid")] = true
		case "process.gpu.exited":
			delete(running, text(record, "process.pid"))
		case "container.gpu.allocated":
			holding[text(record, "k8s.pod.name")] = true
		case "container.gpu.released":
			delete(holding, text(record, "k8s.pod.name"))
		}
	}
	if !maps.Equal(holding, k.holding()) {
		return false
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

// holding are the pods that hold a GPU.
func (k *killed) holding() map[string]bool {
	pods := map[string]bool{}
	for _, pod := range k.pods {
		pods[pod] = true
	}
	return pods
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
	allocated, released, joules := map[string]int{}, map[string]int{}, map[string]float64{}
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
			k.checkUse(record)
		case "container.gpu.allocated":
			allocated[text(record, "k8s.pod.name")]++
		case "container.gpu.released":
			released[text(record, "k8s.pod.name")]++
			k.checkUse(record)
			joules[text(record, "hw.id")] += number(record, "hw.gpu.use.energy")
		case "hw.gpu.xid":
			xid, err := strconv.ParseInt(text(record, "hw.gpu.xid"), 10, 64)
			require.NoError(t, err)
			assert.False(t, xids[xid], "XID %d is there twice", xid)
			xids[xid] = true
		}
	}
	for i := range killGPUs {
		assert.Equal(t, k.want(i), cmp.Or(states[gpu(i)], "ok"), "GPU %d is what its last record says", i)
		assert.LessOrEqual(t, joules[gpu(i)], float64(k.used[i]), "the containers of GPU %d have used no more than the GPU", i)
	}
	for pod, n := range allocated {
		assert.Equal(t, 1, n, "%s has a GPU", pod)
		assert.True(t, k.ended[pod] || k.holding()[pod], pod)
	}
	for pod, n := range released {
		assert.Equal(t, 1, n, "%s has released its GPU", pod)
		assert.Equal(t, 1, allocated[pod], "%s has released a GPU that it had", pod)
		assert.True(t, k.ended[pod], "%s still has its GPU", pod)
	}
	for pod := range allocated {
		assert.Equal(t, k.ended[pod], released[pod] == 1, "%s has released its GPU", pod)
	}
	for pid, n := range started {
		assert.Equal(t, 1, n, "process %s started", pid)
		number, err := strconv.ParseInt(pid, 10, 64)
		require.NoError(t, err)
		assert.Equal(t, map[bool]int{false: 1}[k.processes[number]], exited[pid], "process %s exited", pid)
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
	t.Logf("%d runs: %d of %d XIDs, %d processes, %d pods with %v of %v J, %d records, %d of them arrived again", k.run, len(xids), total,
		len(started), len(allocated), joules, k.used, len(k.arrived()), len(k.sink.Events())-len(k.arrived()))
	require.NotEmpty(t, xids)
	require.NotEmpty(t, started)
	require.NotEmpty(t, allocated)
	require.NotEmpty(t, states)
}

// checkUse checks the sums of a process or an allocation that has ended.
func (k *killed) checkUse(record plog.LogRecord) {
	startedAt, err := time.Parse(time.RFC3339Nano, text(record, "hw.gpu.use.start_time"))
	require.NoError(k.t, err)
	ended, err := time.Parse(time.RFC3339Nano, text(record, "hw.gpu.use.end_time"))
	require.NoError(k.t, err)
	lasted := ended.Sub(startedAt).Seconds()
	assert.GreaterOrEqual(k.t, lasted, 0.0)
	const rounding = 0.01
	for _, seconds := range []float64{
		number(record, "hw.gpu.use.duration"), number(record, "hw.gpu.use.gpu_time"),
		number(record, "hw.gpu.use.busy_time") + number(record, "hw.gpu.use.idle_time"),
	} {
		assert.GreaterOrEqual(k.t, seconds, 0.0)
		assert.LessOrEqual(k.t, seconds, lasted+rounding)
	}
	assert.GreaterOrEqual(k.t, number(record, "hw.gpu.use.energy"), 0.0)
}

// number is the value of an attribute; 0 if it is absent.
func number(record plog.LogRecord, attribute string) float64 {
	v, _ := strconv.ParseFloat(text(record, attribute), 64)
	return v
}

// end ends the collector: by a kill, or as a service is stopped.
func (k *killed) end() {
	k.t.Helper()
	if k.random.IntN(3) > 0 {
		k.process.Kill()
		return
	}
	code, _, err := k.process.Terminate(endsWithin)
	require.NoError(k.t, err)
	assert.Zero(k.t, code, "exit code")
}

// restart starts a collector while the driver is not loaded or has lost a GPU, at times, and ends that at the latest after the third start.
func (k *killed) restart() {
	k.t.Helper()
	for range 3 {
		switch k.random.IntN(4) {
		case 0: // at the first attempt only: the second is at the next read
			k.fault = "[fault away]\nfunction = nvmlInit\nreturn = DRIVER_NOT_LOADED\ncalls = 1\n"
		case 1:
			k.fault = fmt.Sprintf("[fault away]\ngpu = %d\nkind = lost\nat_start = true\n", k.random.IntN(killGPUs))
		}
		k.apply(0) // the next process would have the last XID again
		for range k.random.IntN(3) {
			k.change(false)
		}
		k.start()
		k.read()
		if k.fault == "" {
			return
		}
		if again := k.random.IntN(2) == 0; !again {
			break
		}
		k.end()
	}
	k.fault = ""
	if !k.process.Running() {
		k.apply(0)
		k.start()
		k.read()
		return
	}
	k.apply(0)
	k.read() // it has every GPU again, and their XIDs are watched
}

// A collector that is killed at random points loses nothing that the documentation says can be known, and sends nothing as new that it knew.
func TestEventsOutliveKills(t *testing.T) {
	t.Parallel()
	duration, err := time.ParseDuration(cmp.Or(os.Getenv("GPURECEIVER_KILL_TIME"), "20s"))
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	if value := os.Getenv("GPURECEIVER_SEED"); value != "" {
		seed, err = strconv.ParseUint(value, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("GPURECEIVER_SEED=%d", seed)
	k := prepareKilled(t, seed)
	k.bad[0] = true // its record shows that the first read is stored: what that read has of processes are no events
	k.apply(0)
	k.start()
	eventually(t, patience, "the first record", func() bool { return len(k.arrived()) > 0 })
	k.processes[k.number] = true
	k.allocate(0)
	k.apply(0)
	k.read()
	for startedAt := time.Now(); time.Since(startedAt) < duration; {
		k.away.Store(k.random.IntN(2) == 0)
		for range k.random.IntN(8) {
			k.change(true)
			time.Sleep(time.Duration(k.random.IntN(400)) * time.Millisecond)
		}
		before := k.arrived() // first: what waits now and has arrived is one message at most
		waits := k.waiting()
		k.end()
		k.restart()
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

// read waits for two messages of metrics: the second one's read started after the call.
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
