// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
)

// sentRecords returns the records of the receiver's golden files. Each file has uids of its own.
func sentRecords(t *testing.T) []plog.Logs {
	t.Helper()
	paths, err := filepath.Glob("../../internal/record/testdata/*events.yaml")
	require.NoError(t, err)
	require.Greater(t, len(paths), 5)
	var records []plog.Logs
	for _, path := range paths {
		logs, err := golden.ReadLogs(path)
		require.NoError(t, err)
		for _, resource := range logs.ResourceLogs().All() {
			for _, scope := range resource.ScopeLogs().All() {
				for _, record := range scope.LogRecords().All() {
					uid, ok := record.Attributes().Get("log.record.uid")
					require.True(t, ok, "%s: %s", path, record.EventName())
					uid.SetStr(filepath.Base(path) + uid.Str())
					one := plog.NewLogs()
					r := one.ResourceLogs().AppendEmpty()
					resource.Resource().CopyTo(r.Resource())
					record.CopyTo(r.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty())
					records = append(records, one)
				}
			}
		}
	}
	return records
}

// together returns records as one batch.
func together(records []plog.Logs) plog.Logs {
	logs := plog.NewLogs()
	for _, r := range records {
		r.ResourceLogs().At(0).CopyTo(logs.ResourceLogs().AppendEmpty())
	}
	return logs
}

// The tables are the same in whatever order the records come, in whatever batches, and however often.
func TestTablesDoNotDependOnTheWay(t *testing.T) {
	records := sentRecords(t)
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		for _, r := range records {
			require.NoError(t, l.consumeLogs(t.Context(), r))
		}
		want := allTables(t, l.db.DB)
		for _, name := range []string{"gpu_events", "gpu_pods_events", "pod_snapshots", "gpu_pods", "gpu_workloads", "workload_pod_references", "pod_resources"} {
			assert.NotEmpty(t, want[name], name)
		}
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 0))
			other := newLedger(t, newURL())
			requests := append(append([]plog.Logs(nil), records...), records[:random.IntN(len(records))]...)
			random.Shuffle(len(requests), func(i, j int) { requests[i], requests[j] = requests[j], requests[i] })
			for len(requests) > 0 {
				n := 1 + random.IntN(len(requests))
				require.NoError(t, other.consumeLogs(t.Context(), together(requests[:n])))
				requests = requests[n:]
			}
			require.Equal(t, want, allTables(t, other.db.DB), "seed %d", seed)
		}
	})
}

// record returns a record with attributes, given as names and values.
func record(seconds int64, name, uid string, attributes ...string) plog.Logs {
	logs := plog.NewLogs()
	r := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetTimestamp(pcommon.Timestamp(seconds * 1e9))
	r.SetEventName(name)
	r.Attributes().PutStr("log.record.uid", uid)
	for i := 0; i < len(attributes); i += 2 {
		r.Attributes().PutStr(attributes[i], attributes[i+1])
	}
	return logs
}

// The row of a pod has the time of each step, and the phase of the latest record, if the records come backwards and twice.
func TestPodThatComesBackwards(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		pod := []string{"k8s.pod.uid", "p1", "k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.workload.uid", "w1"}
		life := []plog.Logs{
			record(0, "k8s.pod.gpu.created", "u1", append(pod, "k8s.pod.status.phase", "Pending")...),
			record(10, "k8s.pod.gpu.scheduled", "u2", append(pod, "k8s.pod.status.phase", "Pending", "k8s.node.name", "node-a")...),
			record(20, "k8s.pod.gpu.phase", "u3", append(pod, "k8s.pod.status.phase", "Running", "k8s.node.name", "node-a")...),
			record(30, "k8s.pod.gpu.finished", "u4", append(pod, "k8s.pod.status.phase", "Succeeded", "k8s.node.name", "node-a")...),
		}
		for range 2 {
			for i := range life {
				require.NoError(t, l.consumeLogs(t.Context(), life[len(life)-1-i]))
			}
		}
		got := contents(t, l.db.DB, "SELECT k8s_node_name, k8s_pod_status_phase, uid, "+asText("created_time")+" AS c, "+asText("scheduled_time")+" AS s, "+
			asText("running_time")+" AS r, "+asText("finished_time")+" AS f FROM gpu_pods")
		assert.Equal(t, []string{
			"k8s_node_name=node-a k8s_pod_status_phase=Succeeded uid=u4 c=1970-01-01 00:00:00 s=1970-01-01 00:00:10 r=1970-01-01 00:00:20 f=1970-01-01 00:00:30 ",
		}, got)
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_pods_events"), 4)
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM workload_pod_references"), 1)
	})
}

// A record with what databases refuse in texts is kept without it, and so are the records beside it.
func TestTextsThatDatabasesRefuse(t *testing.T) {
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		long := string(make([]byte, 300)) + "\xff" + strings.Repeat("é", 300)
		require.NoError(t, l.consumeLogs(t.Context(), together([]plog.Logs{
			record(0, "hw.gpu.status", "u1", "hw.id", long, "hw.state", "ok\x00"), record(0, "hw.gpu.status", "u2", "hw.id", "GPU-1"),
		})))
		assert.Len(t, contents(t, l.db.DB, "SELECT uid FROM gpu_events"), 2)
		assert.Equal(t, []string{"hw_state=ok "}, contents(t, l.db.DB, "SELECT hw_state FROM gpu_events WHERE uid = 'u1'"))
	})
}
