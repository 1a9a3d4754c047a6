// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestEvents(t *testing.T) {
	for query, want := range map[string][]string{
		"":                            {"e3", "e2", "e1"},
		"?sort=time":                  {"e1", "e2", "e3"},
		"?cluster=prod":               {"e3", "e2"},
		"?cluster=lab":                {"e1"},
		"?node=n2":                    {"e3", "e2"},
		"?node=retired":               {"e1"}, // nothing else is known of it
		"?gpu=GPU-n2-1":               {"e3", "e2"},
		"?node=n2&gpu=1":              {"e3", "e2"}, // the same by its index
		"?gpu=GPU-retired-0":          {"e1"},
		"?name=hw.gpu.status":         {"e3", "e1"},
		"?cluster=prod&node=empty":    nil,
		"?severity=WARN":              {"e3", "e2"},
		"?severity=INFO":              {"e3", "e2", "e1"},
		"?since=90s":                  {"e3"},
		"?since=2026-11-22T11:55:00Z": {"e3", "e2"},
		"?cluster=cpu":                nil, // a cluster without GPUs has no events, and that is no error
		"?limit=1":                    {"e3"},
	} {
		var uids []string
		l := decode[view.List[view.Event]](t, get(t, "/api/v1/gpu/events"+query))
		for _, e := range l.Items {
			if !strings.HasPrefix(e.UID, "other-") { // one of each other event
				uids = append(uids, e.UID)
			}
		}
		assert.Equal(t, want, uids, query)
	}
	for query, status := range map[string]int{
		"?cluster=no": 404, "?node=n9": 404, "?node=n1": 409, "?gpu=GPU-none": 404, "?severity=LOUD": 400, "?since=yesterday": 400, "?since=-5m": 400,
	} {
		assert.Equal(t, status, get(t, "/api/v1/gpu/events"+query).Code, query)
	}
}

func TestHistory(t *testing.T) {
	const path = "/api/v1/gpu/devices/GPU-n1-0/history?metric=hw.gpu.utilization"
	h := decode[view.History](t, get(t, path))
	assert.Equal(t, "GPU-n1-0", h.ID)
	assert.Equal(t, "1", h.Unit)
	require.Len(t, h.Points, 3)
	assert.Nil(t, h.Points[1].Value, "a gap")
	assert.Len(t, decode[view.History](t, get(t, path+"&since=45s")).Points, 2)
	assert.Empty(t, decode[view.History](t, get(t, path+"&since="+viewtest.Now.Format(time.RFC3339))).Points)

	// The same GPU by its index.
	assert.Equal(t, h, decode[view.History](t, get(t, "/api/v1/gpu/devices/0/history?metric=hw.gpu.utilization&node=n1&cluster=prod")))
	// A GPU that has no points of the metric.
	assert.Contains(t, get(t, "/api/v1/gpu/devices/GPU-n1-1/history?metric=hw.gpu.utilization").Body.String(), `"points":[]`)

	for target, status := range map[string]int{
		"/api/v1/gpu/devices/GPU-none/history?metric=hw.gpu.utilization": 404,
		"/api/v1/gpu/devices/GPU-n1-0/history":                           400,
		"/api/v1/gpu/devices/GPU-n1-0/history?metric=no":                 400,
		path + "&since=x":     400,
		path + "&cluster=no":  404,
		path + "&cluster=lab": 404,
		"/api/v1/gpu/devices/0/history?metric=hw.gpu.utilization": 409,
	} {
		assert.Equal(t, status, get(t, target).Code, target)
	}
	var p view.Problem
	require.NoError(t, json.Unmarshal(get(t, "/api/v1/gpu/devices/GPU-n1-0/history?metric=no").Body.Bytes(), &p))
	assert.Equal(t, "Give one of hw.gpu.utilization.", p.Remedy)
}

func TestWorkloads(t *testing.T) {
	l := decode[view.List[*view.Workload]](t, get(t, "/api/v1/gpu/workloads?sort=-idle"))
	require.Len(t, l.Items, 2)
	assert.Equal(t, "train", l.Items[0].Name)
	assert.Equal(t, 1, *l.Items[0].Idle)
	assert.Nil(t, l.Items[1].Held)
	assert.Equal(t, 1, decode[view.List[*view.Workload]](t, get(t, "/api/v1/gpu/workloads?pod=train-0")).Total)
	assert.Equal(t, 404, get(t, "/api/v1/gpu/workloads?cluster=no").Code)
}

func TestInfo(t *testing.T) {
	assert.True(t, decode[view.Info](t, get(t, "/api/v1/gpu/info")).Available)
	gone := decode[view.Info](t, get(t, "/api/v1/gpu/info?cluster=gone"))
	assert.False(t, gone.Available)
	assert.Equal(t, []string{"timeout"}, gone.Clusters[0].Sources[0].Reasons)
	assert.Equal(t, 404, get(t, "/api/v1/gpu/info?cluster=no").Code)
}

func TestHealthAndTiles(t *testing.T) {
	assert.Equal(t, view.Health{Status: "ok", Time: viewtest.Now, Instance: "gateway-0", Generation: 42, Nodes: 6}, decode[view.Health](t, get(t, "/healthz")))
	assert.Len(t, decode[view.Tiles](t, get(t, "/api/v1/gpu/tiles")).Tiles, 11)
	assert.Empty(t, decode[view.Tiles](t, get(t, "/api/v1/gpu/tiles?since=42")).Tiles)
	assert.Equal(t, 400, get(t, "/api/v1/gpu/tiles?since=18446744073709551616").Code)
}
