// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"context"

	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgpu/gpureceiver/exporter/kubernetes/internal/metadata"
)

// What is posted.
const (
	objectEvent     = "event"
	objectCondition = "node_condition"
)

// Why an Event is dropped.
const (
	dropGaveUp    = "gave_up"
	dropQueueFull = "queue_full"
	dropRateLimit = "rate_limit"
	dropShutdown  = "shutdown"
)

// counts are the exporter's own metrics.
type counts struct {
	telemetry *metadata.TelemetryBuilder
	id        attribute.KeyValue
}

func newCounts(set exporter.Settings) (*counts, error) {
	telemetry, err := metadata.NewTelemetryBuilder(set.TelemetrySettings)
	return &counts{telemetry: telemetry, id: attribute.String("exporter", set.ID.String())}, err
}

// begin creates the series of what is posted: an increase from 0 is one, too.
func (c *counts) begin(object string) {
	c.add(c.telemetry.GpuKubernetesPosted, "object", object, 0)
	c.add(c.telemetry.GpuKubernetesRefused, "object", object, 0)
	if object == objectEvent {
		for _, reason := range []string{dropGaveUp, dropQueueFull, dropRateLimit, dropShutdown} {
			c.dropped(reason, 0)
		}
	}
}

// posted counts a request that the API server took.
func (c *counts) posted(object string) { c.add(c.telemetry.GpuKubernetesPosted, "object", object, 1) }

// refused counts a request that is not repeated as it is, because the API server refuses it or the credentials cannot be read.
func (c *counts) refused(object string) {
	c.add(c.telemetry.GpuKubernetesRefused, "object", object, 1)
}

// dropped counts Events that will never be posted.
func (c *counts) dropped(reason string, events int) {
	c.add(c.telemetry.GpuKubernetesDropped, "reason", reason, events)
}

func (c *counts) add(counter metric.Int64Counter, key, value string, n int) {
	counter.Add(context.Background(), int64(n), metric.WithAttributeSet(attribute.NewSet(c.id, attribute.String(key, value))))
}
