// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

func TestHistory(t *testing.T) {
	const path = "/api/v1/gpu/devices/GPU-n1-0/history?metric=hw.gpu.utilization"
	h := decode[view.History](t, get(t, path))
	assert.Equal(t, "GPU-n1-0", h.ID)
	assert.Equal(t, "1", h.Unit)
	require.Len(t, h.Points, 3)
	assert.Nil(t, h.Points[1].Value, "a gap")
	assert.Len(t, decode[view.History](t, get(t, path+"&since=45s")).Points, 2)
	assert.Empty(t, decode[view.History](t, get(t, path+"&since="+viewtest.Now.Format(time.RFC3339))).Points)

	// What is asked for beyond the kept history is not left out silently.
	assert.False(t, h.Shortened)
	assert.InDelta(t, 3600, h.Kept, 0)
	assert.True(t, decode[view.History](t, get(t, path+"&since=61m")).Shortened)
	assert.True(t, decode[view.History](t, get(t, "/api/v1/gpu/devices/GPU-n1-1/history?metric=hw.gpu.utilization&since=61m")).Shortened, "without points")

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

// The histories of a node's GPUs come in one answer, in the order of their indexes, without its partitions.
func TestNodeHistory(t *testing.T) {
	list := decode[view.List[view.History]](t, get(t, "/api/v1/gpu/nodes/prod/n1/history?metric=hw.gpu.utilization"))
	assert.Len(t, list.Items, list.Total)
	var ids []string
	for _, h := range list.Items {
		ids = append(ids, h.ID)
		assert.Equal(t, decode[view.History](t, get(t, "/api/v1/gpu/devices/"+h.ID+"/history?metric=hw.gpu.utilization")), h)
	}
	assert.Equal(t, []string{"GPU-n1-0", "GPU-n1-1", "GPU-n1-2", "GPU-n1-3"}, ids)
	assert.Len(t, decode[view.List[view.History]](t, get(t, "/api/v1/gpu/nodes/prod/n2/history?metric=hw.gpu.utilization")).Items, 2)
	assert.Equal(t, http.StatusBadRequest, get(t, "/api/v1/gpu/nodes/prod/n1/history?metric=no").Code)
	assert.Equal(t, http.StatusNotFound, get(t, "/api/v1/gpu/nodes/prod/n9/history?metric=hw.gpu.utilization").Code)
}
