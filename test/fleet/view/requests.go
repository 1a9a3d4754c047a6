// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/test/fleet/messages"
)

// maxAnswer bounds an answer in bytes.
const maxAnswer = 64 << 20

// get returns an answer and the time until its last byte.
func (g *gateway) get(ctx context.Context, target string) ([]byte, time.Duration, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, g.api+target, nil)
	if err != nil {
		return nil, 0, err
	}
	start := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	took := time.Since(start)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %.500s", target, response.Status, body)
	}
	return body, took, err
}

// verify returns what the API shows otherwise than it was sent.
func (g *gateway) verify(ctx context.Context, o *options) []error {
	var errs []error
	differs := func(subject string, got, want any) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s: the API shows %v, %v were sent", subject, got, want))
		}
	}
	body, _, err := g.get(ctx, "/api/v1/gpu/summary")
	if err != nil {
		return []error{err}
	}
	var sums view.List[view.Summary]
	if err := json.Unmarshal(body, &sums); err != nil || len(sums.Items) != 1 {
		return []error{fmt.Errorf("the summary contains %d sums: %w", len(sums.Items), err)}
	}
	s := &sums.Items[0]
	differs("nodes", s.Nodes, o.fleet.Nodes)
	differs("GPUs", s.GPUs, o.fleet.Nodes*o.fleet.GPUs)
	differs("healthy GPUs", s.Healthy, o.fleet.Nodes*o.fleet.GPUs)
	if s.Processes == nil || s.Memory.Total == nil {
		return append(errs, fmt.Errorf("the summary lacks processes or memory: %s", body))
	}
	differs("processes", *s.Processes, o.fleet.Nodes*o.fleet.Processes)
	differs("memory", int64(*s.Memory.Total), int64(o.fleet.Nodes)*int64(o.fleet.GPUs)*messages.Memory)
	return errs
}

// reportLatencies prints how long answers take.
func (g *gateway) reportLatencies(ctx context.Context, o *options, when string) error {
	middle := o.fleet.Nodes / 2
	fmt.Printf("| request, %s | median | 99 %% | longest | size |\n|---|---|---|---|---|\n", when)
	for _, target := range []string{
		"/api/v1/gpu/summary", "/api/v1/gpu/summary?by=node", "/api/v1/gpu/summary?by=workload",
		"/api/v1/gpu/nodes/" + messages.Name(middle), "/api/v1/gpu/metrics/" + messages.ID(middle, 0),
		"/api/v1/gpu/devices/" + messages.ID(middle, 0) + "/history?metric=hw.gpu.utilization",
		"/api/v1/gpu/nodes", "/api/v1/gpu/processes", "/api/v1/gpu/processes?sort=-memory_bytes", "/api/v1/gpu/workloads", "/api/v1/gpu/info",
		"/api/v1/gpu/tiles", "/gpu/metrics?node=" + messages.Name(middle), "/api/v1/gpu/nodes?form=a", "/api/v1/gpu/processes?form=a",
		"/api/v1/monitoring/gpu-metrics",
	} {
		took := make([]time.Duration, o.requests)
		size := 0
		for i := range took {
			body, d, err := g.get(ctx, target)
			if err != nil {
				return err
			}
			took[i], size = d, len(body)
		}
		slices.Sort(took)
		ms := func(d time.Duration) float64 { return 1e3 * d.Seconds() }
		fmt.Printf("| `%s` | %.1f ms | %.0f ms | %.0f ms | %.1f KiB |\n", target, ms(took[len(took)/2]), ms(took[len(took)*99/100]), ms(took[len(took)-1]), float64(size)/1024)
	}
	fmt.Println()
	return nil
}
