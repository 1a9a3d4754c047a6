// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Wanted returns the groups that a source reads for the enabled metrics and events. attributed reports whether the use of devices
// is attributed to containers; without it, the metrics of containers have no points, and events name no containers. Sources always read the identity of devices
// and whether they can be reached.
func Wanted(m *metadata.MetricsConfig, e *metadata.EventsConfig, attributed bool) gpu.Group {
	groups := needs(deviceMetrics(m)) | needs(processMetrics(m)) | eventNeeds(e, attributed)
	if attributed {
		groups |= needs(containerMetrics(m))
	}
	return groups
}
