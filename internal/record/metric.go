// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// metric is one line in a table of metrics: whether the configuration enables the metric, what a source reads for it, and how its
// points are recorded.
type metric[P any] struct {
	enabled bool
	needs   gpu.Group // zero if no source reads anything for the metric alone
	record  func(P)
}

// enabled returns the lines that the configuration enables.
func enabled[P any](table []metric[P]) []metric[P] {
	return slices.DeleteFunc(table, func(m metric[P]) bool { return !m.enabled })
}

// needs returns what a source reads for the enabled lines of a table.
func needs[P any](table []metric[P]) gpu.Group {
	var all gpu.Group
	for _, m := range enabled(table) {
		all |= m.needs
	}
	return all
}

// builder shortens the method expressions in the tables.
type builder = metadata.MetricsBuilder

// recordFunc records a point of a metric whose only required attribute is hw.id.
type recordFunc[N gpu.Number] func(mb *builder, ts pcommon.Timestamp, value N, hwID string, options ...metadata.MetricAttributeOption)

// flag is the value of a metric that is 1 while something holds and 0 otherwise.
func flag(holds bool) int64 {
	if holds {
		return 1
	}
	return 0
}

// flagOf is the flag of what may not have been read.
func flagOf(value gpu.Opt[bool]) gpu.Opt[int64] {
	holds, ok := value.Get()
	if !ok {
		return gpu.Opt[int64]{}
	}
	return gpu.Some(flag(holds))
}

// withText appends an attribute to the options unless its text is empty.
func withText(options []metadata.MetricAttributeOption, text string, option func(string) metadata.MetricAttributeOption) []metadata.MetricAttributeOption {
	if text == "" {
		return options
	}
	return append(options, option(text))
}
