// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/compat"
	"github.com/otelgpu/gpureceiver/internal/view/fleet"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// Messages of the receiver are also answered as in the document: a list is not null, and every value has its type.
func TestAnswersOfTheReceiversMessages(t *testing.T) {
	doc := load(t, true)
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "golden", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	logs, err := golden.ReadLogs(filepath.Join("..", "..", "record", "testdata", "events.yaml"))
	require.NoError(t, err)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			metrics, err := golden.ReadMetrics(file)
			require.NoError(t, err)
			reader := fleet.New(fleet.Settings{Instance: "here"})
			reader.ConsumeMetrics(metrics)
			reader.ConsumeLogs(logs)
			require.NotEmpty(t, reader.Snapshot().Nodes)
			require.NotEmpty(t, reader.Events())
			checkAnswers(t, doc, reader)
		})
	}
}

// checkAnswers asks every path for what a reader has.
func checkAnswers(t *testing.T, doc *openapi3.T, reader *fleet.Fleet) {
	t.Helper()
	h := New(reader, Settings{More: compat.Routes(reader)})
	check := func(path, target string) {
		w := ask(t, h, http.MethodGet, target)
		if assert.Equal(t, http.StatusOK, w.Code, "%s: %s", target, w.Body) {
			requireValid(t, doc, doc.Paths.Value(path).Get.Responses.Value("200").Value.Content[route.JSON].Schema.Value, w.Body.Bytes())
		}
	}
	for path, item := range doc.Paths.Map() {
		if !strings.Contains(path, "{") && path != "/api/v1/gpu/stream" && path != "/gpu/metrics" { // form B is of one machine
			check(path, path)
			if item.Get.Responses.Value("200").Value.Headers["Link"] != nil {
				check(path, path+"?limit=1000")
			}
		}
	}
	for _, n := range reader.Snapshot().Nodes {
		cluster := "-"
		if n.Cluster != nil {
			cluster = *n.Cluster
		}
		query := "?cluster=" + url.QueryEscape(cluster) + "&node=" + url.QueryEscape(n.Name)
		check("/api/v1/gpu/nodes/{cluster}/{node}", "/api/v1/gpu/nodes/"+url.PathEscape(cluster)+"/"+url.PathEscape(n.Name))
		check("/api/v1/gpu/summary", "/api/v1/gpu/summary"+query+"&by=workload")
		check("/gpu/metrics", "/gpu/metrics"+query)
		for _, g := range n.GPUs {
			check("/api/v1/gpu/metrics/{id}", "/api/v1/gpu/metrics/"+url.PathEscape(g.ID)+query)
			for _, metric := range reader.HistoryMetrics() {
				check("/api/v1/gpu/devices/{id}/history", "/api/v1/gpu/devices/"+url.PathEscape(g.ID)+"/history"+query+"&metric="+metric)
			}
		}
	}
}
