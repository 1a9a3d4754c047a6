// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// life is what a simulated GPU and its partitions do.
type life struct {
	id       string
	profiles []string           // of the partitions
	pods     []map[string]*part // of each device, by pod
	known    bool               // the holders are known
}

// part is what a pod has of a device.
type part struct {
	since  int64
	share  float64 // 0: it shares equally
	idle   float64
	energy float64
	unread bool // its use is unknown
}

func (l *life) devices() []string {
	devices := []string{l.id}
	for i := range l.profiles {
		devices = append(devices, fmt.Sprintf("MIG-%s-%d", l.id, i))
	}
	return devices
}

// metrics returns what the receiver sends of a read.
func (l *life) metrics(now int64) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	point := func(resource map[string]any, name string, value float64, start int64, attributes map[string]any) {
		r := metrics.ResourceMetrics().AppendEmpty()
		_ = r.Resource().Attributes().FromRaw(resource)
		m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
		m.SetName(name)
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		_ = p.Attributes().FromRaw(attributes)
		p.SetTimestamp(pcommon.Timestamp(now * 1e9))
		p.SetStartTimestamp(pcommon.Timestamp(start * 1e9))
		p.SetDoubleValue(value)
	}
	for i, id := range l.devices() {
		own := map[string]any{"hw.id": id, "hw.model": "NVIDIA H100 80GB HBM3"}
		if i > 0 {
			own["hw.parent"], own["hw.gpu.partition.profile"] = l.id, l.profiles[i-1]
		}
		node := map[string]any{"k8s.node.name": "node-a"}
		point(node, "hw.gpu.info", 1, 0, own)
		if !l.known {
			continue
		}
		allocated := 0.0
		for pod, g := range l.pods[i] {
			allocated = 1
			resource := map[string]any{
				"k8s.node.name": "node-a", "k8s.namespace.name": "team", "k8s.pod.name": pod, "k8s.pod.uid": pod, "k8s.container.name": "main",
				"k8s.workload.kind": "Job", "k8s.workload.name": "train", "k8s.pod.label.cost-center": "vision",
			}
			attributes := map[string]any{"hw.id": id}
			point(resource, "container.gpu.allocated", 1, 0, attributes)
			if g.share > 0 {
				point(resource, "container.gpu.share", g.share, 0, attributes)
			}
			if !g.unread {
				point(resource, "container.gpu.idle.time", g.idle, g.since, attributes)
				point(resource, "container.gpu.energy", g.energy, g.since, attributes)
			}
		}
		point(node, "hw.gpu.allocated", allocated, 0, own)
	}
	return metrics
}

// step changes what the pods have, and lets the time between two reads pass.
func (l *life) step(random *rand.Rand, now, seconds int64) {
	for _, pods := range l.pods {
		for _, name := range slices.Sorted(maps.Keys(pods)) {
			g := pods[name]
			g.idle += float64(seconds) * random.Float64()
			g.energy += float64(seconds) * 300 * random.Float64()
			g.unread = random.IntN(10) == 0
			if random.IntN(4) == 0 {
				delete(pods, name)
			}
		}
		for len(pods) < 4 && random.IntN(2) == 0 {
			g := &part{since: now}
			if random.IntN(2) == 0 {
				g.share = random.Float64()
			}
			pods[fmt.Sprintf("pod-%d", random.IntN(1e6))] = g
		}
	}
	l.known = random.IntN(10) > 0
}

func newLife(random *rand.Rand, id string) *life {
	l := &life{id: id, known: true}
	if random.IntN(2) == 0 {
		l.profiles = [][]string{{"1g.10gb", "1g.10gb", "3g.40gb"}, {"1c.3g.40gb", "2c.3g.40gb", "4g.40gb"}, {"CPX", "CPX"}}[random.IntN(3)]
	}
	for range l.devices() {
		l.pods = append(l.pods, map[string]*part{})
	}
	return l
}

// Whatever happens, the seconds of a GPU are held, unallocated or unknown; and what was held was used,
// idle or unknown. Reads that come twice change nothing, nor do two collectors that send the same.
func TestBillAddsUp(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		for seed := range uint64(12) {
			random := rand.New(rand.NewPCG(seed, 1))
			life := newLife(random, fmt.Sprint("GPU-", seed))
			const start = 3_000
			now := int64(start)
			var requests []pmetric.Metrics
			gaps := 0.0
			for range 60 {
				m := life.metrics(now)
				requests = append(requests, m)
				require.NoError(t, l.consumeMetrics(t.Context(), m))
				if random.IntN(3) == 0 {
					require.NoError(t, l.consumeMetrics(t.Context(), requests[random.IntN(len(requests))]))
				}
				seconds := 10 + random.Int64N(200)
				if random.IntN(12) == 0 {
					seconds += 4_000 // the collector is away
				}
				if seconds > 300 {
					gaps += float64(seconds)
				}
				now += seconds
				life.step(random, now, seconds)
			}
			require.NoError(t, l.consumeMetrics(t.Context(), life.metrics(now)))
			var heldTime, busy, idle, unknownUse, unallocated, unknown float64
			sums := "SELECT SUM(held_time), SUM(busy_time), SUM(idle_time), SUM(unknown_use_time), SUM(unallocated_time), SUM(unknown_time) FROM allocations " +
				fmt.Sprintf("WHERE hw_id = '%s' OR hw_parent = '%s'", life.id, life.id)
			require.NoError(t, l.db.QueryRow(sums).Scan(&heldTime, &busy, &idle, &unknownUse, &unallocated, &unknown))
			assert.InDelta(t, now-start, heldTime+unallocated+unknown, 1e-3, "seed %d", seed)
			assert.InDelta(t, heldTime, busy+idle+unknownUse, 1e-3, "seed %d", seed)
			assert.GreaterOrEqual(t, unknown, gaps-1e-3, "seed %d", seed)
			assert.Positive(t, heldTime)
			assert.Positive(t, busy)
			assert.Positive(t, idle)
			assert.Positive(t, unallocated)
			assert.Empty(t, contents(t, l.db.DB, sums+" GROUP BY hour_time HAVING SUM(held_time) + SUM(unallocated_time) + SUM(unknown_time) > 3600.001"))
		}
		assert.Empty(t, contents(t, l.db.DB, "SELECT hw_id FROM allocations WHERE held_time < 0 OR busy_time < 0 OR idle_time < 0 OR unallocated_time < 0 OR unknown_time < 0 OR share > 1.000001"))
	})
}

// By hand: a GPU that one pod holds from 00:10 to 01:30 and uses a quarter of the time, then is unallocated until 02:00.
func TestBillByHand(t *testing.T) {
	const day = 86_400
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		gpu := &life{id: "GPU-1", known: true, pods: []map[string]*part{{}}}
		for now := int64(day); now <= day+7200; now += 30 {
			switch {
			case now == day+600:
				gpu.pods[0]["train-0"] = &part{since: now}
			case now > day+600 && now < day+5400:
				gpu.pods[0]["train-0"].idle += 22.5
				gpu.pods[0]["train-0"].energy += 30 * 400
			case now == day+5400:
				delete(gpu.pods[0], "train-0")
			}
			require.NoError(t, l.consumeMetrics(t.Context(), gpu.metrics(now)))
		}
		rows := contents(t, l.db.DB, "SELECT "+asText("start_time")+" AS a, "+asText("end_time")+" AS b, k8s_pod_name, "+
			"held_time, busy_time, idle_time, unknown_use_time, unallocated_time, unknown_time, energy FROM allocations ORDER BY start_time")
		assert.Equal(t, []string{
			"a=1970-01-02 00:00:00 b=1970-01-02 00:10:00 held_time=0 busy_time=0 idle_time=0 unknown_use_time=0 unallocated_time=600 unknown_time=0 ",
			"a=1970-01-02 00:10:00 b=1970-01-02 01:00:00 k8s_pod_name=train-0 held_time=3000 busy_time=750 idle_time=2250 unknown_use_time=0 unallocated_time=0 unknown_time=0 energy=1.2e+06 ",
			// The use of the last 30 s is not known: the pod had gone at the next read.
			"a=1970-01-02 01:00:00 b=1970-01-02 01:30:00 k8s_pod_name=train-0 held_time=1800 busy_time=442.5 idle_time=1327.5 unknown_use_time=30 unallocated_time=0 unknown_time=0 energy=708000 ",
			"a=1970-01-02 01:30:00 b=1970-01-02 02:00:00 held_time=0 busy_time=0 idle_time=0 unknown_use_time=0 unallocated_time=1800 unknown_time=0 ",
		}, rows)
		answer, err := l.db.report(t.Context(), &question{Since: time.Unix(day, 0), Until: time.Unix(day+7200, 0), By: "namespace"})
		require.NoError(t, err)
		assert.Equal(t, []reportRow{
			{Model: "NVIDIA H100 80GB HBM3", Unallocated: 2400},
			{Name: "team", Model: "NVIDIA H100 80GB HBM3", Held: 4800, Used: 1192.5, Idle: 3577.5, UnknownUse: 30, Energy: new(1908000.0)},
		}, answer.Rows)
		for group, name := range map[string]string{"workload": "team/Job/train", "label": "vision", "node": "node-a", "model": "NVIDIA H100 80GB HBM3", "user": "", "account": ""} {
			q := &question{Since: time.Unix(day, 0), Until: time.Unix(day+7200, 0), By: group}
			if group == "label" {
				q.Label = "cost-center"
			}
			answer, err := l.db.report(t.Context(), q)
			require.NoError(t, err)
			assert.True(t, slices.ContainsFunc(answer.Rows, func(r reportRow) bool { return r.Name == name && r.Held == 4800 }), "%s: %v", group, answer.Rows)
		}
	})
}

// The ledger reads what the receiver sends: partitions, holders, their counters and memory.
func TestReadsOfTheReceiver(t *testing.T) {
	metrics, err := golden.ReadMetrics("../../internal/record/testdata/full_node.yaml")
	require.NoError(t, err)
	reads := readsOf(metrics)
	require.Len(t, reads, 2)
	gpu := reads[1]
	require.Len(t, gpu.Devices, 2)
	mig, whole := gpu.Devices["MIG-66666666-7777-8888-9999-aaaaaaaaaaaa"], gpu.Devices["GPU-11111111-2222-3333-4444-555555555555"]
	assert.Equal(t, "3g.40gb", mig.Columns["hw_gpu_partition_profile"])
	assert.Equal(t, "NVIDIA H100 80GB HBM3", whole.Columns["hw_model"])
	assert.Equal(t, "node-a", whole.Columns["k8s_node_name"])
	assert.InDelta(t, 3.0/7, deviceShares(gpu)["MIG-66666666-7777-8888-9999-aaaaaaaaaaaa"], 1e-9)
	require.Len(t, whole.Holders, 1)
	for _, h := range whole.Holders {
		assert.Equal(t, "train-0", h.Columns["k8s_pod_name"])
		assert.Equal(t, "train", h.Columns["k8s_workload_name"])
		assert.JSONEq(t, `{"k8s.pod.label.team":"vision"}`, h.Columns["labels"].(string))
		assert.InDelta(t, 0.375, *h.Share, 1e-9)
		assert.InDelta(t, 12.5, h.Idle.Value, 1e-9)
		assert.InDelta(t, 7001.25, h.Energy.Value, 1e-9)
		assert.EqualValues(t, 9663676417, *h.Memory)
	}
}
