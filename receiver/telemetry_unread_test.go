// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const nvmlReads = "receiver=gpu,scraper=nvml"

// A read without any answer is not a success, although known GPUs are sent as failed.
func TestOwnMetricsWithoutAnAnswer(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	step := make(chan bool)
	source := &fakeSource{next: func(ctx context.Context, _ int) (*gpu.Node, error) {
		node := nodeOf(healthy("GPU-1"))
		select {
		case failed := <-step:
			if failed {
				node.Failure = &gpu.Failure{Reason: gpu.FailureTimeout, Err: errors.New("nothing has returned")}
			}
		case <-ctx.Done():
		}
		return node, nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.set.TelemetrySettings = tel.NewTelemetrySettings()
	r.run(r.newMetrics())
	success := func(is float64) bool {
		v, ok := own(t, tel, "otelcol_gpu_read_success")[nvmlReads]
		return ok && v == is
	}
	step <- true
	eventually(t, func() bool { return success(0) }, "no answer")
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_age"), "there was no good read")
	step <- false
	eventually(t, func() bool { return success(1) }, "an answer")
	step <- true
	eventually(t, func() bool { return success(0) }, "none any more")
	before := own(t, tel, "otelcol_gpu_read_age")[nvmlReads]
	assert.Positive(t, before, "of the good one")
	step <- true
	assert.Greater(t, own(t, tel, "otelcol_gpu_read_age")[nvmlReads], before)
	assert.NotZero(t, r.metrics.DataPointCount(), "it is sent all the same")
}

// A read that does not end within its time is reported while it hangs, even the first one.
func TestOwnMetricsOfAReadThatOverruns(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
	release := make(chan struct{})
	source := &fakeSource{next: func(context.Context, int) (*gpu.Node, error) {
		<-release
		return nodeOf(healthy("GPU-1")), nil
	}}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.cfg.ControllerConfig.Timeout = 10 * time.Millisecond
	r.set.TelemetrySettings = tel.NewTelemetrySettings()
	r.run(r.newMetrics())
	is := func(want float64) func() bool {
		return func() bool {
			v, ok := own(t, tel, "otelcol_gpu_read_success")[nvmlReads]
			return ok && v == want
		}
	}
	eventually(t, is(0), "it hangs")
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_age"))
	assert.Empty(t, own(t, tel, "otelcol_gpu_read_duration"), "it has not ended")
	close(release)
	eventually(t, is(1), "it has come back")
}
