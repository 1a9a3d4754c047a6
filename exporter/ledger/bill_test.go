// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"slices"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/histories"
)

// Whatever happens, in each hour the GPUs of a node and a model are held, unallocated or unknown for as long as they were seen, what was held
// was used, idle or unknown, and each pod pays for its share. Reads that come twice or late change nothing, nor do two collectors that send
// the same.
func TestBillAddsUp(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		plan := histories.Plan{Seed: 1, Histories: 4, Rounds: 40}
		histories.Each(t, plan, func(t *testing.T, h *histories.History) {
			l := newLedger(t, newURL())
			h.Play(newBilled(t, h.Rand, l))
			for _, column := range []string{"held_time", "busy_time", "idle_time", "unknown_use_time", "unallocated_time", "unknown_time"} {
				assert.NotEmpty(t, contents(t, l.db.DB, "SELECT hw_id FROM allocations WHERE "+column+" > 0"), column)
			}
		})
	})
}

// By hand: a GPU that one pod holds from 00:10 to 01:30 and uses a quarter of the time, then is unallocated until 02:00.
func TestBillByHand(t *testing.T) {
	const day = 86_400
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		gpu := newLife("GPU-1")
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
