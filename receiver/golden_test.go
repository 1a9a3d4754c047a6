// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/golden"
	"github.com/open-telemetry/opentelemetry-collector-contrib/pkg/pdatatest/pmetrictest"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/nvml"
	"github.com/otelgpu/gpureceiver/internal/process"
	"github.com/otelgpu/gpureceiver/internal/record"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// go test ./receiver -update rewrites the golden files.
var update = flag.Bool("update", false, "rewrite the golden files")

// compare compares metrics with a golden file at the root, including times. Only the order may differ.
func compare(t *testing.T, name string, got pmetric.Metrics) {
	t.Helper()
	path := filepath.Join("..", "testdata", "golden", name)
	if *update {
		require.NoError(t, golden.WriteMetricsToFile(path, got, golden.SkipMetricTimestampNormalization()))
	}
	want, err := golden.ReadMetrics(path)
	require.NoError(t, err)
	require.NoError(t, pmetrictest.CompareMetrics(want, got, pmetrictest.IgnoreResourceMetricsOrder(),
		pmetrictest.IgnoreMetricsOrder(), pmetrictest.IgnoreMetricDataPointsOrder(), pmetrictest.IgnoreDatapointAttributesOrder()))
}

// stage is a local scraper with the clock, host and process table of the test.
type stage struct {
	*localScraper
	t testing.TB
}

func newStage(t testing.TB, key string, source gpu.Source, cfg metadata.MetricsBuilderConfig) *stage {
	t.Helper()
	telemetry, err := metadata.NewTelemetryBuilder(componenttest.NewNopTelemetrySettings())
	require.NoError(t, err)
	own := createDefaultConfig().(*Config)
	own.MetricsBuilderConfig = cfg
	own.Scrapers = map[string]component.Config{key: nil}
	m := &machine{
		shared: &shared{
			receiver: "gpu", cfg: own, logger: zap.NewNop(), telemetry: telemetry, metrics: &metricsOutput{set: receivertest.NewNopSettings(metadata.Type)},
			closing: t.Context(), status: &componentStatus{},
		},
		host: gpu.Host{Name: "node-a", NodeName: "node-a", ClusterName: "prod"}, processes: process.New(t.TempDir()),
	}
	return &stage{localScraper: newLocalScraper(t.Context(), m, key, source, 0), t: t}
}

// describe replaces the process table that describes processes.
func (s *stage) describe(processes *process.Reader) {
	s.processes, s.reader.Processes = processes, localProcesses{processes}
}

// record reads once and records the result.
func (s *stage) record() pmetric.Metrics {
	s.t.Helper()
	var metrics pmetric.Metrics
	read := false
	ctx, cancel := context.WithTimeout(s.t.Context(), patience) // without a deadline the source has one of its own
	defer cancel()
	s.read(ctx, func(node *gpu.Node) { metrics, read = s.pipeline.Metrics(node), true })
	require.True(s.t, read)
	return metrics
}

// withoutStarts removes the start time, which is the creation time of the recorder, from points that are not counters.
func withoutStarts(metrics pmetric.Metrics) pmetric.Metrics {
	for _, rm := range metrics.ResourceMetrics().All() {
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				var points pmetric.NumberDataPointSlice
				switch {
				case m.Type() == pmetric.MetricTypeGauge:
					points = m.Gauge().DataPoints()
				case m.Sum().IsMonotonic():
					continue
				default:
					points = m.Sum().DataPoints()
				}
				for _, dp := range points.All() {
					dp.SetStartTimestamp(pcommon.Timestamp(0))
				}
			}
		}
	}
	return metrics
}

// simEpoch is the driver's time at which a scenario with manual time begins.
var simEpoch = time.Unix(1_700_000_000, 0).UTC()

// nvmlGolden reads a scenario at its times 0 and 30 s, and compares the metrics of both. The scenario defines what changes in between.
func nvmlGolden(t *testing.T, name string, cfg metadata.MetricsBuilderConfig, scenario, later string) {
	t.Helper()
	lib := simulator(t)
	control := nvmlsim.Use(t, "time = manual\n"+scenario)
	closed(t, lib)
	now, sys := simEpoch, t.TempDir()
	pciGPU(t, sys, "0000:18:00.0", "nvidia")
	pciGPU(t, sys, "0000:2a:00.0", "nvidia")
	pciGPU(t, sys, "0000:3a:00.0", "vfio-pci")
	settings := nvml.DefaultConfig()
	settings.LibraryPath = lib.Full
	source := nvml.New(&settings, record.Wanted(&cfg.Metrics, new(metadata.EventsConfig), false),
		nvml.WithClock(func() time.Time { return now }), nvml.WithSysRoot(sys), nvml.WithProcRoot(t.TempDir()))
	t.Cleanup(func() { require.NoError(t, source.Close()) })
	s := newStage(t, "test", source, cfg)
	s.record()
	now = now.Add(30 * time.Second)
	require.NoError(t, control.Set("now = 30s\n"+later))
	compare(t, name, withoutStarts(s.record()))
}

// pciGPU puts an NVIDIA GPU on a PCI bus.
func pciGPU(t *testing.T, sys, address, driver string) {
	t.Helper()
	dir := filepath.Join(sys, "bus/pci/devices", address)
	require.NoError(t, os.MkdirAll(dir, 0o750))
	for file, text := range map[string]string{"vendor": "0x10de\n", "class": "0x030200\n", "numa_node": "1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
	}
	require.NoError(t, os.Symlink("../../../../bus/pci/drivers/"+driver, filepath.Join(dir, "driver")))
}

// everyMetric also enables the metrics that are off by default.
func everyMetric() metadata.MetricsBuilderConfig {
	cfg := metadata.NewDefaultMetricsBuilderConfig()
	for _, m := range []*bool{
		&cfg.Metrics.HwGpuEccLifetime.Enabled, &cfg.Metrics.HwGpuInterconnectLinkErrors.Enabled,
		&cfg.Metrics.HwGpuInterconnectLinkIo.Enabled, &cfg.Metrics.HwGpuMemoryProtectedUsage.Enabled,
		&cfg.Metrics.HwGpuMemoryReserved.Enabled, &cfg.Metrics.HwGpuMemoryUtilization.Enabled,
		&cfg.Metrics.HwGpuMemorySystemLimit.Enabled, &cfg.Metrics.HwGpuMemorySystemUsage.Enabled,
		&cfg.Metrics.HwGpuMemoryVisibleLimit.Enabled, &cfg.Metrics.HwGpuMemoryVisibleUsage.Enabled,
		&cfg.Metrics.HwGpuModulePower.Enabled, &cfg.Metrics.HwGpuPipeUtilization.Enabled,
		&cfg.Metrics.HwGpuPowerInstant.Enabled, &cfg.Metrics.HwGpuSmOccupancy.Enabled, &cfg.Metrics.HwGpuSpeedLimit.Enabled,
		&cfg.Metrics.ContainerGpuMediaUtilization.Enabled, &cfg.Metrics.ProcessGpuMediaUtilization.Enabled,
	} {
		*m = true
	}
	return cfg
}

const twoH100 = `
gpus = 2
[gpu *]
board = h100
links = 2
util.gpu = ramp(20, 80, 30)
util.memory = 41
power = 330
temperature = 52
temperature.memory = 61
pcie.tx.bytes = counter(912345678000, 1000)
pcie.replay = 3
ecc.volatile.corrected = 7
violation.power = counter(1200, 0.5)
reasons = 0x4
[gpu 0]
bus_id = 0000:18:00
serial = 1650123000001
[gpu 1]
bus_id = 0000:2a:00
serial = 1650123000002
`

// A GPU with two MIG instances beside a whole one, with every metric enabled.
func TestGoldenMIG(t *testing.T) {
	nvmlGolden(t, "nvml_mig.yaml", everyMetric(), twoH100+`
[gpu 0]
mig = 1
[mig 0 0]
profile = 3g.40gb
gi = 2
ci = 0
gpm.graphics = 80
gpm.sm = 71
[mig 0 1]
profile = 1g.10gb
gi = 9
ci = 0
[process partition]
gpu = 0
mig = 0
pid = 51001
memory = 30Gi
[process whole]
gpu = 1
pid = 51003
memory = 22Gi
sm = 55
mem = 20
`, "")
}

// One of two GPUs is lost between two reads, with the default metrics.
func TestGoldenLost(t *testing.T) {
	nvmlGolden(t, "nvml_lost.yaml", metadata.NewDefaultMetricsBuilderConfig(), twoH100+`
[process p]
gpu = 0,1
pid = 61000
memory = 2Gi
sm = 12
`, "[fault f]\ngpu = 1\nkind = lost\nat_start = true\n")
}
