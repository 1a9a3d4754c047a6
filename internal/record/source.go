// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// sourceState records whether a source can be read, and if not, why.
type sourceState struct{ reported [gpu.NumFailureReasons]bool }

// record records one read. A reason that the source has had gets 0 at each later read that does not fail for it, so that an alert
// resolves with that read.
func (s *sourceState) record(b *builder, ts pcommon.Timestamp, node *gpu.Node) {
	if node.Source == "" {
		return
	}
	failure := node.Failure
	options := withText(nodeIdentity(&node.Host), string(node.Vendor), metadata.WithHwVendorMetricAttribute)
	b.RecordHwGpuSourceReadableDataPoint(ts, flag(failure == nil), node.Source, options...)
	if failure != nil {
		s.reported[failure.Reason] = true
	}
	for reason, reported := range s.reported {
		if reported {
			holds := failure != nil && failure.Reason == gpu.FailureReason(reason)
			b.RecordHwGpuSourceFailureDataPoint(ts, flag(holds), failureReasons[reason], node.Source, options...)
		}
	}
}
