// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package gpureceiver

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
)

// A tool that crashes, exits with an error after complete output, or never ends is logged once, however often it happens. No value is
// invented, and a shutdown does not wait for the tool.
func TestToolsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		timeout time.Duration
		says    string
	}{
		"half its JSON":      {`printf '{"card0": {"Unique ID": "0x1", "GPU u'; kill -9 $$`, patience, "output ends in the middle"},
		"an error, exit 0":   {`echo "ERROR:root:Driver not initialized (amdgpu not found in modules)"`, patience, "the amdgpu driver is not loaded"},
		"hangs with a child": {"sleep 600 & sleep 600", 2 * time.Second, "did not end in time"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "rocm-smi")
			commandtest.WriteScript(t, path, c.script)
			r := newRigOf(t, openSource)
			require.NoError(t, confmap.NewFromStringMap(map[string]any{
				"collection_interval": "200ms", "initial_delay": "0s",
				"scrapers": map[string]any{"rocm_smi": map[string]any{"path": path}},
			}).Unmarshal(r.cfg))
			r.cfg.ControllerConfig.Timeout = c.timeout
			metrics := r.newMetrics()
			require.NoError(t, metrics.Start(t.Context(), r.host))
			warnings := func() int { return r.log.FilterLevelExact(zap.WarnLevel).Len() }
			eventually(t, func() bool { return warnings() > 0 }, "the problem")
			before := len(r.metrics.AllMetrics())
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) >= before+2 }, "a read after the next")
			assert.Equal(t, 1, warnings())
			entry := r.log.FilterLevelExact(zap.WarnLevel).All()[0]
			assert.Contains(t, entry.ContextMap()["reason"], c.says)
			for _, m := range r.metrics.AllMetrics() {
				for _, rm := range m.ResourceMetrics().All() {
					for _, sm := range rm.ScopeMetrics().All() {
						for _, metric := range sm.Metrics().All() {
							assert.Contains(t, []string{"hw.gpu.count", "hw.gpu.source.failure", "hw.gpu.source.readable"}, metric.Name(), "no device was read")
						}
					}
				}
			}
			require.NoError(t, metrics.Shutdown(context.Background()))
		})
	}
}
