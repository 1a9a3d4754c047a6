// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package gpureceiver

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// A read of nvidia-smi without a complete GPU fails from the first one on. It says nothing about the known GPUs: these have no status and
// no readings, and stay with what describes them.
func TestFailedReadsOfNvidiaSMI(t *testing.T) {
	recorded, err := filepath.Abs("../testdata/tools/nvidia_smi_full/nvidia-smi")
	require.NoError(t, err)
	for name, script := range map[string]string{
		"crash":          "kill -SEGV $$",
		"garbage":        "echo '<html>502</html>'",
		"half a GPU":     `printf '<nvidia_smi_log><gpu id="00000000:1B:00.0"><uuid>GPU-5'`,
		"not authorised": "echo 'Failed to initialize NVML: Insufficient Permissions'; exit 4",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			path, broken := filepath.Join(directory, "nvidia-smi"), filepath.Join(directory, "broken")
			commandtest.WriteScript(t, path, "if [ -e "+broken+" ]; then\n:\n"+script+"\nelse exec "+recorded+" \"$@\"; fi")
			tel := componenttest.NewTelemetry()
			t.Cleanup(func() { require.NoError(t, tel.Shutdown(context.Background())) })
			r := newRigOf(t, openSource)
			r.set.TelemetrySettings.MeterProvider = tel.NewTelemetrySettings().MeterProvider
			require.NoError(t, confmap.NewFromStringMap(map[string]any{
				"collection_interval": "1s", "initial_delay": "0s",
				"scrapers": map[string]any{"nvidia_smi": map[string]any{"path": path}},
			}).Unmarshal(r.cfg))
			r.cfg.ControllerConfig.Timeout = time.Minute // a slow machine does not cause a timeout
			r.run(r.newMetrics())
			success := func() float64 {
				v, ok := own(t, tel, "otelcol_gpu_read_success")["receiver=gpu,scraper=nvidia_smi"]
				if !ok {
					return -1
				}
				return v
			}
			eventually(t, func() bool { return success() == 1 }, "a good read")
			require.NoError(t, os.WriteFile(broken, nil, 0o600))
			eventually(t, func() bool { return success() == 0 }, "the failed read")
			r.metrics.Reset()
			eventually(t, func() bool { return r.metrics.DataPointCount() > 0 }, "a message")
			names := otlptest.Names(otlptest.Points(r.metrics.AllMetrics()[0]))
			assert.Contains(t, names, "hw.gpu.info")
			assert.Contains(t, names, "hw.gpu.source.failure")
			for _, not := range []string{"hw.status", "hw.gpu.fault", "hw.gpu.count", "hw.power", "hw.gpu.utilization"} {
				assert.NotContains(t, names, not)
			}
			require.NoError(t, os.Remove(broken))
			eventually(t, func() bool { return success() == 1 }, "it works again")
		})
	}
}
