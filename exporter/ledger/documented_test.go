// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
)

func page(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../docs/operate/ledger.md")
	require.NoError(t, err)
	return string(content)
}

// The queries of docs/operate/ledger.md run on all databases, and find what they say.
func TestDocumentedQueries(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	require.Len(t, blocks, 3)
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Unix()
	pod := []string{"k8s.pod.uid", "p1", "k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.container.name", "main", "k8s.workload.uid", "w1"}
	holding := append([]string{"hw.id", "GPU-1", "hw.gpu.use.start_time", "2026-01-02T03:00:00Z"}, pod...)
	records := []plog.Logs{
		record(start, "k8s.pod.gpu.created", "u1", pod...),
		record(start, "k8s.workload.gpu.started", "u2", pod...),
		record(start, "container.gpu.allocated", "u3", holding...),
		record(start+60, "hw.gpu.xid", "u4", "hw.id", "GPU-1", "hw.gpu.xid", "79"),
		record(start+3600, "container.gpu.released", "u5", append(holding, "hw.gpu.use.end_time", "2026-01-02T04:00:00Z")...),
		record(start+7200, "hw.gpu.xid", "u6", "hw.id", "GPU-1", "hw.gpu.xid", "13"),
	}
	onEach(t, func(t *testing.T, newURL func() string) {
		l := newLedger(t, newURL())
		require.NoError(t, l.consumeLogs(t.Context(), together(records)))
		gpu := &life{id: "GPU-1", known: true, pods: []map[string]*part{{"train-0": {since: start}}}}
		for now := start; now <= start+7200; now += 60 {
			require.NoError(t, l.consumeMetrics(t.Context(), gpu.metrics(now)))
		}
		month := contents(t, l.db.DB, blocks[0][1])
		require.Len(t, month, 1)
		assert.Contains(t, month[0], "k8s_namespace_name=team held=2 used=2 idle=0")
		workload := contents(t, l.db.DB, blocks[1][1])
		require.Len(t, workload, 1)
		assert.Contains(t, workload[0], "k8s_pod_name=train-0")
		life := contents(t, l.db.DB, blocks[2][1])
		require.Len(t, life, 2, "the XID after the release is not its own")
		assert.Contains(t, life[0], "k8s.pod.gpu.created")
		assert.Contains(t, life[1], "hw.gpu.xid")
	})
}

// The page has all tables, and all settings of the exporter.
func TestDocumentedTablesAndSettings(t *testing.T) {
	text := page(t)
	for _, table := range tables {
		if table == gpuReads || table == allocationDays {
			continue // only the exporter uses it
		}
		assert.Regexp(t, `(?m)^\| [^|]*\b`+table.name+`\b`, text)
	}
	for field := range reflect.TypeFor[Config]().Fields() {
		name := strings.ReplaceAll(field.Tag.Get("mapstructure"), ",squash", "timeout")
		assert.Regexp(t, `(?m)^\| [^|]*\b`+name+`\b`, text, name)
	}
}

// The queries of the dashboard of the ledger run on PostgreSQL, and each finds what a job and its pod did.
func TestDashboardOnPostgreSQL(t *testing.T) {
	if servers["postgres"] == "" {
		t.Skip("LEDGER_POSTGRES names no server: make test-ledger runs this test")
	}
	content, err := os.ReadFile("../../deploy/grafana/postgresql/gpureceiver-ledger.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ RawSQL string }
		}
	}
	require.NoError(t, json.Unmarshal(content, &dashboard))
	require.Len(t, dashboard.Panels, 7)

	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Unix()
	pod := []string{"k8s.pod.uid", "train-0", "k8s.namespace.name", "team", "k8s.pod.name", "train-0", "k8s.workload.uid", "w1", "k8s.workload.name", "train"}
	l := newLedger(t, newDatabase(t, servers["postgres"]))
	require.NoError(t, l.consumeLogs(t.Context(), together([]plog.Logs{
		record(start, "k8s.pod.gpu.created", "u1", pod...),
		record(start, "k8s.workload.gpu.started", "u2", pod...),
		record(start+60, "hw.gpu.xid", "u3", "hw.id", "GPU-1", "hw.gpu.xid", "79"),
	})))
	gpu := &life{id: "GPU-1", known: true, pods: []map[string]*part{{"train-0": {since: start}}}}
	for now := start; now <= start+7200; now += 60 {
		require.NoError(t, l.consumeMetrics(t.Context(), gpu.metrics(now)))
	}
	_, err = l.db.Exec("UPDATE allocations SET slurm_job_account = 'physics'")
	require.NoError(t, err)
	wants := map[string]string{
		"Held by namespace": "metric=team value=1 ", "Namespaces": "Held=2 Used=2 Idle=0", "Accounts of Slurm": "Account=physics Held=2", "Workloads": "Workload=train Held=2",
		"Pods of the workload": "Pod=train-0", "Events of the workload": "k8s.pod.gpu.created", "Events of GPUs": "GPU=GPU-1 XID=79",
	}
	timeFilter := regexp.MustCompile(`\$__timeFilter\((\w+)\)`)
	for _, panel := range dashboard.Panels {
		require.Len(t, panel.Targets, 1, panel.Title)
		query := timeFilter.ReplaceAllString(panel.Targets[0].RawSQL, "$1 BETWEEN '2026-01-01T00:00:00Z' AND '2026-02-01T00:00:00Z'")
		query = strings.ReplaceAll(query, "${workload:sqlstring}", "'train'")
		assert.NotContains(t, query, "$", panel.Title)
		rows := contents(t, l.db.DB, query)
		require.NotEmpty(t, rows, panel.Title)
		assert.Contains(t, rows[0], wants[panel.Title], panel.Title)
	}
}
