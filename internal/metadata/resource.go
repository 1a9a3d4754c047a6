// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package metadata

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Reserve makes room for so many attributes of the resource being built in one step.
func (rb *ResourceBuilder) Reserve(attributes int) { rb.res.Attributes().EnsureCapacity(attributes) }

// TakeResource is WithResource for a resource that was made for this alone: it is moved, not copied, and empty afterwards.
func TakeResource(res pcommon.Resource) ResourceMetricsOption {
	return resourceMetricsOptionFunc(func(rm pmetric.ResourceMetrics) { res.MoveTo(rm.Resource()) })
}
