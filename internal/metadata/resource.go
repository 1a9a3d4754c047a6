// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	conventions "go.opentelemetry.io/otel/semconv/v1.43.0"
)

// Reserve makes room for so many attributes of the resource being built in one step.
func (rb *ResourceBuilder) Reserve(attributes int) { rb.res.Attributes().EnsureCapacity(attributes) }

// TakeResource is WithResource for a resource that was made for this alone: it is moved, not copied, and empty afterwards.
func TakeResource(res pcommon.Resource) ResourceMetricsOption {
	return resourceMetricsOptionFunc(func(rm pmetric.ResourceMetrics) { res.MoveTo(rm.Resource()) })
}

// EmitProcess is EmitForResource for the resource of a process, which is made for this alone. A process has two of the metrics,
// and there are many processes: EmitForResource would go through all metrics for each of them.
func (mb *MetricsBuilder) EmitProcess(process pcommon.Resource) {
	rm := pmetric.NewResourceMetrics()
	rm.SetSchemaUrl(conventions.SchemaURL)
	ils := rm.ScopeMetrics().AppendEmpty()
	ils.Scope().SetName(ScopeName)
	ils.Scope().SetVersion(mb.buildInfo.Version)
	ils.Metrics().EnsureCapacity(2)
	mb.metricProcessGpuMemoryUsage.emit(ils.Metrics())
	mb.metricProcessGpuUtilization.emit(ils.Metrics())
	process.MoveTo(rm.Resource())
	for attr, filter := range mb.resourceAttributeIncludeFilter {
		if val, ok := rm.Resource().Attributes().Get(attr); ok && !filter.Matches(val.AsString()) {
			return
		}
	}
	for attr, filter := range mb.resourceAttributeExcludeFilter {
		if val, ok := rm.Resource().Attributes().Get(attr); ok && filter.Matches(val.AsString()) {
			return
		}
	}
	if ils.Metrics().Len() > 0 {
		rm.MoveTo(mb.metricsBuffer.ResourceMetrics().AppendEmpty())
	}
}
