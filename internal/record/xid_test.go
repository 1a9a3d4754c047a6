// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

// recordXID returns the record of one XID.
func recordXID(t *testing.T, e gpu.Event) plog.LogRecord {
	t.Helper()
	e.Type, e.DeviceID = gpu.EventXID, gpuID
	records := recordsOf(newEvents(nil).Record(&gpu.Host{Name: "node-a"}, []gpu.Event{e}, observed))
	require.Len(t, records, 1)
	return records[0]
}

// The lists name all containers; the attributes of a container are there only if it was the only one.
func TestContainersOfXID(t *testing.T) {
	other := &gpu.Container{ID: "c2", Name: "main", Namespace: "team", PodName: "serve-0"}
	sameByCgroup := &gpu.Container{ID: "c1", Name: "main", Namespace: "team", PodName: "train-0"}
	job, unit, bare := &gpu.Container{SlurmJob: "4711"}, &gpu.Container{SystemdUnit: "ollama.service"}, &gpu.Container{ID: "c9"}
	type list = []*gpu.Container
	tests := map[string]struct {
		holders, users    list
		wantHolders, used any
		container, absent string // an attribute that is there, and one that is not
	}{
		"not known":      {nil, nil, nil, nil, "", "container.id"},
		"nobody":         {list{}, list{}, []any{}, []any{}, "", "container.id"},
		"one":            {list{trainer}, list{sameByCgroup}, []any{"team/train-0/main"}, []any{"team/train-0/main"}, "k8s.workload.name", ""},
		"used by others": {list{trainer}, list{other}, []any{"team/train-0/main"}, []any{"team/serve-0/main"}, "", "container.id"},
		"shared":         {list{trainer, other}, list{other}, []any{"team/serve-0/main", "team/train-0/main"}, []any{"team/serve-0/main"}, "", "k8s.pod.name"},
		"a job":          {nil, list{job}, nil, []any{"4711"}, "slurm.job.id", "container.id"},
		"a unit":         {nil, list{unit}, nil, []any{"ollama.service"}, "systemd.unit.name", "container.id"},
		"no name":        {nil, list{{}}, nil, nil, "", "container.id"},
		"partly named":   {nil, list{{Namespace: "team", PodName: "train-0"}}, nil, []any{"team/train-0"}, "k8s.pod.name", "k8s.container.name"},
		"an ID":          {nil, list{bare}, nil, []any{"c9"}, "container.id", "k8s.pod.name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := recordXID(t, gpu.Event{XID: 31, Holders: test.holders, Users: test.users}).Attributes().AsRaw()
			assert.Equal(t, test.wantHolders, got["hw.gpu.held_by"])
			assert.Equal(t, test.used, got["hw.gpu.used_by"])
			if test.container != "" {
				assert.NotEmpty(t, got[test.container])
			}
			assert.NotContains(t, got, test.absent)
		})
	}
}

// A list is bounded.
func TestContainersOfXIDAreBounded(t *testing.T) {
	var many []*gpu.Container
	for i := range 40 {
		many = append(many, &gpu.Container{Namespace: "n", PodName: fmt.Sprintf("pod-%02d", 39-i), Name: "c"})
	}
	got := recordXID(t, gpu.Event{XID: 31, Users: many}).Attributes().AsRaw()["hw.gpu.used_by"].([]any)
	assert.Len(t, got, maxContainers)
	assert.Equal(t, "n/pod-00/c", got[0])
	assert.Equal(t, "n/pod-15/c", got[15])
}

// A text of the source is kept, and an unknown code has neither a name nor an action.
func TestBodyOfXID(t *testing.T) {
	assert.Equal(t, "as the kernel says", recordXID(t, gpu.Event{XID: 31, Message: "as the kernel says"}).Body().Str())
	unknown := recordXID(t, gpu.Event{XID: 1234, Name: "nvidia3"})
	assert.Equal(t, "XID 1234 on nvidia3", unknown.Body().Str())
	assert.Equal(t, plog.SeverityNumberWarn, unknown.SeverityNumber())
	assert.Equal(t, attrs("hw.id", gpuID, "error.type", "1234", "hw.gpu.xid", int64(1234), "hw.name", "nvidia3"), unknown.Attributes().AsRaw())
	older := recordXID(t, gpu.Event{XID: 16})
	assert.Equal(t, "XID 16 on "+gpuID+": the display engine hangs", older.Body().Str())
}

// The kernel's log has the process and the driver's own words.
func TestProcessOfXID(t *testing.T) {
	e := gpu.Event{XID: 1234, Name: "nvidia3", UID: "u", Vendor: gpu.NVIDIA, Process: &gpu.Process{PID: 42, Executable: "python3"}, Detail: "Ch 8"}
	got := recordXID(t, e)
	assert.Equal(t, `XID 1234 on nvidia3, process 42 (python3); the driver says "Ch 8"`, got.Body().Str())
	assert.Equal(t, attrs("log.record.uid", "u", "hw.id", gpuID, "error.type", "1234", "hw.gpu.xid", int64(1234), "hw.name", "nvidia3", "hw.vendor", "NVIDIA", "process.pid", int64(42),
		"process.executable.name", "python3"), got.Attributes().AsRaw())
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	assert.Empty(t, declared.EventViolations("hw.gpu.xid", got.Attributes()))
	e.XID, e.Process.Executable = 31, ""
	assert.Contains(t, recordXID(t, e).Body().Str(), "XID 31 on nvidia3, process 42: ")
}

// A record does not say that nothing needs to be done beside words of the driver that ask for something.
func TestActionOfXID(t *testing.T) {
	for _, test := range []struct {
		code                   int64
		detail, action, advice string
	}{
		{63, "", "reset_gpu", "; reset the GPU when its work allows it"},
		{63, "Row Remapper: New row marked for remapping, reset gpu to activate.", "reset_gpu", "; reset the GPU when its work allows it; the driver says"},
		{160, "", "ignore", "; nothing needs to be done"},
		{160, "HBM channel retirement, Node Reboot Required", "restart_bm", "; restart the node when its work allows it; the driver says"},
	} {
		record := recordXID(t, gpu.Event{XID: test.code, Detail: test.detail})
		action, _ := record.Attributes().Get("hw.gpu.recommended_action")
		assert.Equal(t, test.action, action.Str(), "%d %s", test.code, test.detail)
		assert.Contains(t, record.Body().Str(), test.advice)
		assert.Equal(t, plog.SeverityNumberWarn, record.SeverityNumber())
	}
}

// The driver's text decides on severity and action of some codes, and its values become attributes.
func TestTextOfXID(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	for _, test := range []struct {
		code     int64
		detail   string
		severity plog.SeverityNumber
		action   string
		further  map[string]any
	}{
		{
			145, "RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x1)", plog.SeverityNumberWarn, "follow_workflow",
			attrs("hw.gpu.interconnect.link", "3", "hw.gpu.interconnect.fatal", false, "hw.gpu.interconnect.injected", false),
		},
		{
			149, "NETIR_LINK_EVT  Fatal   XC0 i1 Link 01 (0x1)", plog.SeverityNumberError, "follow_workflow",
			attrs("hw.gpu.interconnect.link", "1", "hw.gpu.interconnect.fatal", true, "hw.gpu.interconnect.injected", true),
		},
		{149, "", plog.SeverityNumberError, "follow_workflow", attrs()},
		{154, "changed from 0x4 (Drain and Reset) to 0x1 (GPU Reset Required)", plog.SeverityNumberError, "reset_gpu", attrs("hw.gpu.recovery.action", "reset")},
		{154, "changed from 0x0 (None) to 0x9 (Restart VM)", plog.SeverityNumberWarn, "follow_recovery_action", attrs("hw.gpu.recovery.action", "restart_vm")},
		{154, "", plog.SeverityNumberInfo, "follow_recovery_action", attrs()},
	} {
		record := recordXID(t, gpu.Event{UID: "u", XID: test.code, Detail: test.detail})
		assert.Equal(t, test.severity, record.SeverityNumber(), "%d %s", test.code, test.detail)
		assert.Empty(t, declared.EventViolations("hw.gpu.xid", record.Attributes()))
		got := record.Attributes().AsRaw()
		assert.Equal(t, test.action, got["hw.gpu.recommended_action"])
		for _, name := range []string{"log.record.uid", "hw.id", "error.type", "hw.gpu.xid", "hw.gpu.xid_name", "hw.gpu.recommended_action"} {
			delete(got, name)
		}
		assert.Equal(t, test.further, got, "%d %s", test.code, test.detail)
	}
}

// docs/reference/events/xid-codes.md lists each code of the catalogue with what the receiver says of it.
func TestCodesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "events", "xid-codes.md"))
	require.NoError(t, err)
	var want []string
	for code := range int64(10_000) {
		entry, ok := xid.Lookup(code)
		if !ok {
			continue
		}
		action := ""
		if entry.Action.Name != "" {
			action = "`" + entry.Action.Name + "` "
		}
		want = append(want, fmt.Sprintf("| %d | %s | %s | %s| `%s` |", code, strings.ToUpper(xidSeverities[entry.Severity].String()), entry.Meaning, action, entry.Name))
	}
	require.NotEmpty(t, want)
	assert.Equal(t, want, regexp.MustCompile(`(?m)^\| \d+ \|.*$`).FindAllString(string(page), -1))
}
