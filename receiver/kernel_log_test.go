// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
)

// An XID of the log is sent without a read, with the kernel's time and process, and its copy of the driver is not.
func TestXIDsOfTheKernelLog(t *testing.T) {
	device := healthy("GPU-1")
	device.Info.PCIAddress = "0000:9b:00.0"
	source := &watchedSource{Source: always(device), found: make(chan func([]gpu.Event), 1)}
	r := newRig(t, map[string]gpu.Source{"nvml": source})
	r.cfg.ControllerConfig.CollectionInterval = time.Hour
	r.cfg.KernelLog = emptyKernelLog(t)
	l, m := r.newLogs(), r.newMetrics()
	r.run(m, l)
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 0 }, "a read")
	start := time.Unix(1000, 0)
	for _, s := range r.sources() {
		s.local[0].pipeline.AddKernelLog(&gpu.Host{}, []kernellog.Event{
			{Kind: kernellog.KindXID, Address: "0000:9b:00.0", XID: 79, Time: start, PID: gpu.Some[int64](42), Process: "python3"},
		})
	}
	(<-source.found)([]gpu.Event{{Type: gpu.EventXID, Time: time.Unix(1001, 0), DeviceID: "GPU-1", XID: 79}})
	eventually(t, func() bool { return len(records(r.logs)) > 0 }, "the event")
	require.NoError(t, m.Shutdown(t.Context()))
	require.NoError(t, l.Shutdown(t.Context()))
	require.Len(t, records(r.logs), 1)
	got := records(r.logs)[0]
	assert.Equal(t, start, got.Timestamp().AsTime().Local())
	pid, _ := got.Attributes().Get("process.pid")
	assert.EqualValues(t, 42, pid.Int())
}

// emptyKernelLog is a log to which nothing is added.
func emptyKernelLog(t *testing.T) *kernellog.Config {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(root+"/dev", 0o755))
	require.NoError(t, os.WriteFile(root+"/dev/kmsg", nil, 0o600))
	return &kernellog.Config{Method: kernellog.MethodKmsg, RootPath: root}
}

// A log that is not there is one line in the collector's log, which says what to do, and everything else works.
func TestNoKernelLog(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
	r.cfg.ControllerConfig.CollectionInterval = 20 * time.Millisecond
	r.cfg.KernelLog = &kernellog.Config{Method: kernellog.MethodKmsg, RootPath: t.TempDir()}
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return len(r.messages("kernel log")) > 0 || len(r.messages("Read failed")) > 0 }, "the problem")
	count := len(r.metrics.AllMetrics())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > count+3 }, "reads")
	lines := r.messages("Read failed")
	require.Len(t, lines, 1)
	assert.Equal(t, "kernel log", lines[0].ContextMap()["what"])
	assert.Contains(t, lines[0].ContextMap(), "reason")
}

// Lines of AMD's driver go to the scraper of AMD's GPUs, lines of NVIDIA's to the scraper of NVIDIA's.
func TestFaultsOfTheKernelLog(t *testing.T) {
	device, card := healthy("GPU-1"), healthy("amd-1")
	device.Info.PCIAddress, card.Info.PCIAddress, card.Vendor = "0000:9b:00.0", "0000:03:00.0", gpu.AMD
	r := newRig(t, map[string]gpu.Source{"nvml": always(device), "amdgpu": always(card)})
	r.cfg.ControllerConfig.CollectionInterval = time.Hour
	r.cfg.KernelLog = emptyKernelLog(t)
	r.run(r.newMetrics(), r.newLogs())
	eventually(t, func() bool { return len(r.metrics.AllMetrics()) > 1 }, "a read of each")
	for _, s := range r.sources() {
		for _, l := range s.local {
			l.pipeline.AddKernelLog(&gpu.Host{Name: "n"}, []kernellog.Event{
				{Kind: kernellog.KindXID, Address: "0000:9b:00.0", XID: 13},
				{Kind: kernellog.KindResetFailed, Address: "0000:03:00.0"},
				{Kind: kernellog.KindPCIeError, Address: "0000:03:00.0", Class: gpu.ClassFatal},
				{Kind: kernellog.KindPCIeError, Address: "0000:04:00.0"},
				{Kind: kernellog.KindSwitchError, Address: "0000:06:00.0", XID: 20034, Class: gpu.ClassFatal, Part: "nvidia-nvswitch1"},
			})
		}
	}
	eventually(t, func() bool { return len(records(r.logs)) == 4 }, "the events")
	got := map[string]string{}
	for _, record := range records(r.logs) {
		id, _ := record.Attributes().Get("hw.id")
		got[record.EventName()] = id.Str()
	}
	assert.Equal(t, map[string]string{"hw.gpu.xid": "GPU-1", "hw.gpu.reset": "amd-1", "hw.gpu.pcie_error": "amd-1", "hw.gpu.switch_error": ""}, got)
}

// The log is followed only if its events are sent.
func TestKernelLogIsNotFollowed(t *testing.T) {
	r := newRig(t, map[string]gpu.Source{"nvml": always(healthy("GPU-1"))})
	r.cfg.KernelLog = emptyKernelLog(t)
	r.run(r.newMetrics())
	for _, s := range r.sources() {
		assert.Nil(t, s.kernelLog, "without a logs pipeline")
	}
}

func TestKernelLogConfig(t *testing.T) {
	for text, want := range map[string]*kernellog.Config{
		"max_processes: 1":                             nil,
		"kernel_log:":                                  {Method: "auto", RootPath: "/"},
		"kernel_log: {}":                               {Method: "auto", RootPath: "/"},
		"kernel_log: {method: syslog}":                 {Method: "syslog", RootPath: "/"},
		"kernel_log: {root_path: /host}":               {Method: "auto", RootPath: "/host"},
		"scrapers: {nvidia_smi: }\nkernel_log: ":       {Method: "auto", RootPath: "/"},
		"scrapers: {nvml: , amdgpu: }\nkernel_log: {}": {Method: "auto", RootPath: "/"},
		"scrapers: {amd_smi: }\nkernel_log: ":          {Method: "auto", RootPath: "/"},
	} {
		cfg, err := loadYAML(t, text)
		require.NoError(t, err, text)
		assert.Equal(t, want, cfg.KernelLog, text)
		assert.Empty(t, cfg.warnings(), text)
	}
	for text, want := range map[string]string{
		"kernel_log: {method: journal}": "kernel_log: method: \"journal\" is unknown; allowed are auto, kmsg, syslog",
		"kernel_log: {root_path: host}": "kernel_log: root_path: \"host\" is not an absolute path",
		"kernel_log: {path: /dev/kmsg}": "kernel_log::path: there is no such setting; allowed are method, root_path",
		"kernel_log: true":              "kernel_log: must be a section of settings, or empty, got true",
		"scrapers: {kubernetes_exec: {clusters: [{name: a}]}}\nkernel_log: ": "kernel_log: is for the GPUs of this machine, which no scraper reads",
	} {
		_, err := loadYAML(t, text)
		require.ErrorContains(t, err, want, text)
	}
	for _, text := range []string{
		"scrapers: {nvml: }\nevents: {hw.gpu.xid: {enabled: false}, hw.gpu.lost: {enabled: false}, hw.gpu.pcie_error: {enabled: false}, hw.gpu.switch_error: {enabled: false}}\nkernel_log: ",
		"scrapers: {amdgpu: }\nevents: {hw.gpu.ras_error: {enabled: false}, hw.gpu.bad_pages: {enabled: false}, hw.gpu.reset: {enabled: false}, " +
			"hw.gpu.ring_timeout: {enabled: false}, hw.gpu.pcie_error: {enabled: false}}\nkernel_log: ",
	} {
		cfg, err := loadYAML(t, text)
		require.NoError(t, err, text)
		require.Len(t, cfg.warnings(), 1)
		assert.Contains(t, cfg.warnings()[0], "kernel_log: has no effect")
	}
}

// Without a logs pipeline the kernel's log is not followed, which is warned of once, at the start.
func TestKernelLogWithoutLogsPipeline(t *testing.T) {
	for _, logs := range []bool{false, true} {
		r := newRig(t, map[string]gpu.Source{"nvml": always()})
		r.cfg.Scrapers = map[string]component.Config{"nvml": scraperKinds["nvml"].defaultConfig()}
		r.cfg.KernelLog = &kernellog.Config{Method: "auto", RootPath: t.TempDir()}
		components := []component.Component{r.newMetrics()}
		if logs {
			components = append(components, r.newLogs())
		}
		r.run(components...)
		got := r.messages("kernel_log: has no effect without a logs pipeline")
		if logs {
			assert.Empty(t, got)
		} else {
			assert.Len(t, got, 1)
		}
	}
}
