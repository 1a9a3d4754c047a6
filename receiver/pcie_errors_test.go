// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// The kernel's counts of a GPU's link are sent beside what its source reads, unless the metric is off.
func TestPCIeErrors(t *testing.T) {
	for name, enabled := range map[string]bool{"on": true, "off": false} {
		t.Run(name, func(t *testing.T) {
			settings := amdgpu.DefaultConfig()
			settings.RootPath = t.TempDir()
			dir := filepath.Join(settings.RootPath, "sys/bus/pci/devices/0000:03:00.0")
			require.NoError(t, os.MkdirAll(dir, 0o755))
			for file, text := range map[string]string{"vendor": "0x1002\n", "aer_dev_fatal": "Undefined 0\nTOTAL_ERR_FATAL 5\n"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			device := healthy("1234")
			device.Vendor, device.Info.PCIAddress = gpu.AMD, "0000:03:00.0"
			r := newRig(t, map[string]gpu.Source{"amdgpu": always(device)})
			r.cfg.Scrapers["amdgpu"] = &settings
			r.cfg.Metrics.HwGpuPcieErrors.Enabled = enabled
			r.run(r.newMetrics())
			eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "a read")
			points := otlptest.Of(otlptest.Points(r.metrics.AllMetrics()[0]), "hw.gpu.pcie.errors")
			if !enabled {
				assert.Empty(t, points)
				for _, s := range r.sources() {
					assert.Nil(t, s.local[0].reader.Bus, "what is off is not read")
				}
				return
			}
			require.Len(t, points, 1)
			assert.Equal(t, "fatal", points[0].Attributes["error.type"])
			assert.Equal(t, "gpu", points[0].Attributes["hw.gpu.pcie.device"])
			assert.InDelta(t, 5, points[0].Value, 0)
		})
	}
}
