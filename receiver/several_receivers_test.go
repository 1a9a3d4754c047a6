// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Two receivers of one collector, gpu/good and gpu/bad, with the same scraper: the one that succeeds does not hide the failure of the
// other.
func TestOwnMetricsOfSeveralReceivers(t *testing.T) {
	r, tel := telemetryRig(t, always(healthy("GPU-1")))
	r.set.ID = component.NewIDWithName(metadata.Type, "good")
	good := r.newMetrics()

	failing := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) { return nil, errors.New("the driver says no") }}
	other := newRig(t, map[string]gpu.Source{"nvml": failing})
	other.set.TelemetrySettings = r.set.TelemetrySettings
	other.set.ID = component.NewIDWithName(metadata.Type, "bad")
	r.run(good, other.newMetrics())

	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 1 && failing.reads.Load() > 1 }, "both read")
	want := map[string]float64{"receiver=gpu/good,scraper=nvml": 1, "receiver=gpu/bad,scraper=nvml": 0}
	assert.Equal(t, want, own(t, tel, "otelcol_gpu_read_success"))
	require.Equal(t, map[string]float64{"receiver=gpu/good,scraper=nvml": 0, "receiver=gpu/bad,scraper=nvml": 1},
		own(t, tel, "otelcol_gpu_unreadable"))
}
