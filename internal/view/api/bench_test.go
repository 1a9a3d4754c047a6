// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

// discard is an answer without a reader.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return io.Discard.Write(b) }
func (*discard) WriteHeader(int)               {}

// Of a fleet of 1,000 nodes with 8 GPUs and 64 processes each.
func BenchmarkAnswers(b *testing.B) {
	h := New(viewtest.NewReader(viewtest.Fleet(1000, 8, 64)), Settings{})
	for name, target := range map[string]string{
		"summary":             "/api/v1/gpu/summary",
		"summary_by_node":     "/api/v1/gpu/summary?by=node&limit=1000",
		"summary_by_workload": "/api/v1/gpu/summary?by=workload&limit=1000",
		"one_node":            "/api/v1/gpu/nodes/cluster-05/node-0050",
		"nodes":               "/api/v1/gpu/nodes",
		"metrics_by_power":    "/api/v1/gpu/metrics?sort=-power_watts",
		"processes_by_memory": "/api/v1/gpu/processes?sort=-memory_bytes",
		"tiles":               "/api/v1/gpu/tiles",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r := httptest.NewRequest(http.MethodGet, target, nil)
			for b.Loop() {
				h.ServeHTTP(&discard{header: http.Header{}}, r)
			}
		})
	}
}
