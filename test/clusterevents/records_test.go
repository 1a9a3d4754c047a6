// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package clusterevents

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"
	"k8s.io/apimachinery/pkg/types"
)

func uidOfJob(job string) types.UID { return types.UID("uid-of-" + job) }

func text(record plog.LogRecord, attribute string) string {
	v, ok := record.Attributes().Get(attribute)
	if !ok {
		return ""
	}
	return v.AsString()
}

// distinct returns records without those that arrived again, in the order of their arrival. What arrives again is the same.
func distinct(t *testing.T, records []plog.LogRecord) []plog.LogRecord {
	t.Helper()
	var first []plog.LogRecord
	byUID := map[string]plog.LogRecord{}
	for _, record := range records {
		uid := text(record, "log.record.uid")
		require.NotEmpty(t, uid)
		if before, again := byUID[uid]; again {
			assert.Equal(t, before.EventName(), record.EventName())
			assert.Equal(t, before.Attributes().AsRaw(), record.Attributes().AsRaw(), "it has arrived again")
			assert.Equal(t, before.Timestamp(), record.Timestamp())
			assert.Equal(t, before.Body().AsString(), record.Body().AsString())
			continue
		}
		byUID[uid] = record
		first = append(first, record)
	}
	return first
}

// life is what has arrived of a pod.
type life struct {
	records   map[string]int // by event
	phases    map[string]int
	restarts  int // the last restart that is known
	lastSeen  string
	allocated int
	released  int
}

// lives returns what has arrived of each pod, by UID, and checks its order.
func lives(t *testing.T, records []plog.LogRecord) map[string]*life {
	t.Helper()
	all := map[string]*life{}
	for _, record := range records {
		uid := text(record, "k8s.pod.uid")
		if uid == "" {
			continue
		}
		l := all[uid]
		if l == nil {
			l = &life{records: map[string]int{}, phases: map[string]int{}}
			all[uid] = l
			assert.Equal(t, "k8s.pod.gpu.created", record.EventName(), "the first of %s", uid)
		}
		assert.Zero(t, l.records["k8s.pod.gpu.deleted"], "%s of %s after its end", record.EventName(), uid)
		switch name := record.EventName(); name {
		case "k8s.pod.gpu.phase", "k8s.pod.gpu.finished":
			phase := text(record, "k8s.pod.status.phase")
			l.phases[phase]++
			assert.Equal(t, 1, l.phases[phase], "%s is %s", uid, phase)
			assert.Zero(t, l.records["k8s.pod.gpu.finished"], "%s of %s after it has finished", name, uid)
			assert.Equal(t, 1, l.records["k8s.pod.gpu.scheduled"], "%s of %s: it has a node before", name, uid)
		case "k8s.pod.gpu.restarted":
			restarts, err := strconv.Atoi(text(record, "k8s.container.restart_count"))
			require.NoError(t, err)
			assert.Greater(t, restarts, l.restarts, "restarts of %s", uid)
			l.restarts = restarts
		case "k8s.pod.gpu.deleted":
			l.lastSeen = text(record, "k8s.pod.last_seen")
		case "container.gpu.allocated":
			l.allocated++
		case "container.gpu.released":
			l.released++
			assert.Equal(t, 1, l.allocated, "%s had GPUs", uid)
		}
		l.records[record.EventName()]++
		if name := record.EventName(); name != "k8s.pod.gpu.restarted" && name != "k8s.pod.gpu.condition" && name != "k8s.pod.gpu.phase" {
			assert.Equal(t, 1, l.records[name], "%s of %s", name, uid)
		}
	}
	return all
}

// checkWorkloads checks that each record of a workload continues the one before, and returns how many there are.
func checkWorkloads(t *testing.T, records []plog.LogRecord) (count int) {
	t.Helper()
	pods := map[string]string{} // by workload, as it was last reported; empty: it has ended
	for _, record := range records {
		if uid := text(record, "k8s.pod.uid"); uid != "" {
			continue
		}
		uid := text(record, "k8s.workload.uid")
		switch record.EventName() {
		case "k8s.workload.gpu.started":
			assert.Empty(t, pods[uid], "%s started", uid)
			pods[uid] = text(record, "k8s.workload.pod_count")
		case "k8s.workload.gpu.changed":
			assert.Equal(t, pods[uid], text(record, "k8s.workload.previous_pod_count"), "%s changed: no change is missing, and none is there twice", uid)
			pods[uid] = text(record, "k8s.workload.pod_count")
		case "k8s.workload.gpu.ended":
			assert.NotEmpty(t, pods[uid], "%s ended", uid)
			pods[uid] = ""
		default:
			continue
		}
		count++
	}
	return count
}
