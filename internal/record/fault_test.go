// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// faultEvents are the events of the kernel log other than XIDs, as docs/reference/events/gpu.md shows them.
func faultEvents() []gpu.Event {
	amd := func(uid string, seconds int, change func(*gpu.Event)) gpu.Event {
		e := gpu.Event{
			UID: uid, Time: timeAt(seconds), DeviceID: amdID, Name: "card1", Model: "AMD Instinct MI300X", Vendor: gpu.AMD,
			Holders: []*gpu.Container{trainer}, Users: []*gpu.Container{},
		}
		change(&e)
		return e
	}
	return []gpu.Event{
		amd("f1", 1, func(e *gpu.Event) {
			e.Type, e.Class, e.Part, e.Errors = gpu.EventRASError, gpu.ClassUncorrected, "umc", gpu.Some[int64](2)
			e.Detail = "socket: 0, die: 0, 2 new uncorrectable hardware errors detected in umc block"
		}),
		amd("f2", 12, func(e *gpu.Event) {
			e.Type, e.Class, e.Part, e.Errors = gpu.EventRASError, gpu.ClassCorrected, "gfx", gpu.Some[int64](120)
			e.First, e.Count = timeAt(3), 40
		}),
		amd("f3", 13, func(e *gpu.Event) { e.Type, e.Class = gpu.EventRASError, gpu.ClassPoison }),
		amd("f4", 14, func(e *gpu.Event) { e.Type, e.Errors = gpu.EventBadPages, gpu.Some[int64](16) }),
		amd("f5", 15, func(e *gpu.Event) { e.Type, e.Pages, e.AtLimit = gpu.EventBadPages, gpu.Some[int64](256), true }),
		amd("f6", 16, func(e *gpu.Event) {
			e.Type, e.Part, e.Process = gpu.EventRingTimeout, "gfx_0.0.0", &gpu.Process{PID: 4711, Executable: "python3"}
		}),
		amd("f7", 17, func(e *gpu.Event) { e.Type, e.Reset, e.Follows = gpu.EventReset, gpu.ResetFailed, "f6" }),
		{
			UID: "f8", Type: gpu.EventPCIeError, Time: timeAt(18), DeviceID: gpuID, Name: "nvidia0", Model: "NVIDIA H100 80GB HBM3", Vendor: gpu.NVIDIA,
			Class: gpu.ClassNonFatal, Part: "Data Link", PCIAddress: "0000:9a:01.0",
			Detail: "pcieport 0000:9a:01.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Data Link Layer, (Transmitter ID)",
		},
		{UID: "f9", Type: gpu.EventLost, Time: timeAt(19), DeviceID: gpuID, Name: "nvidia0", Vendor: gpu.NVIDIA, Detail: "GPU 0000:9b:00.0: GPU has fallen off the bus."},
		{
			UID: "f10", Type: gpu.EventSwitchError, Time: timeAt(20), Name: "nvidia-nvswitch1", Vendor: gpu.NVIDIA, XID: 20034, Class: gpu.ClassFatal, Part: "nvidia-nvswitch1",
			Link: gpu.Some[int64](48), PCIAddress: "0000:06:00.0", Detail: "Link 48 LTSSM Fault Up",
		},
		{
			UID: "f11", Type: gpu.EventSwitchError, Time: timeAt(21), Name: "nvidia-nvswitch0", Vendor: gpu.NVIDIA, XID: 10003, Class: gpu.ClassNonFatal, Part: "nvidia-nvswitch0",
			PCIAddress: "0000:05:00.0", Detail: "Host_unhandled_interrupt",
		},
	}
}

func TestGoldenFaultEvents(t *testing.T) {
	host := fullNode().Host
	compareLogs(t, "fault_events.yaml", newEvents(nil).Record(&host, faultEvents(), observed))
}

func TestFaultRecords(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	records := recordsOf(newEvents(nil).Record(&host, faultEvents(), observed))
	const card = " on card1 (AMD Instinct MI300X)"
	want := []struct {
		name       string
		severity   plog.SeverityNumber
		body       string
		attributes map[string]any // in addition to the attributes of the device and of the container
	}{
		{"hw.gpu.ras_error", plog.SeverityNumberError, "uncorrected hardware errors in umc" + card + `, 2 new; reset the GPU unless the driver does so; the kernel says ` +
			`"socket: 0, die: 0, 2 new uncorrectable hardware errors detected in umc block"`, attrs(
			"error.type", "uncorrected", "hw.gpu.error.block", "umc", "hw.gpu.error.count", int64(2), "hw.gpu.recommended_action", "reset_gpu")},
		{"hw.gpu.ras_error", plog.SeverityNumberWarn, "corrected hardware errors in gfx" + card + ", 40 more in 9s, 120 new", attrs(
			"error.type", "corrected", "hw.gpu.error.block", "gfx", "hw.gpu.error.count", int64(120), "hw.gpu.recommended_action", "ignore",
			"hw.gpu.event.count", int64(40), "hw.gpu.event.first_time", iso8601(timeAt(3)), "hw.gpu.event.last_time", iso8601(timeAt(12)))},
		{"hw.gpu.ras_error", plog.SeverityNumberError, "poisoned data was used" + card + "; restart the application", attrs(
			"error.type", "poison", "hw.gpu.recommended_action", "restart_app")},
		{"hw.gpu.bad_pages", plog.SeverityNumberWarn, "bad pages of memory were taken out of use" + card + ", 16 new", attrs(
			"hw.gpu.bad_page.count", int64(16), "hw.gpu.recommended_action", "ignore")},
		{"hw.gpu.bad_pages", plog.SeverityNumberError, "too many bad pages of memory" + card + ", 256 in all; replace the GPU", attrs(
			"hw.gpu.bad_page.total", int64(256), "hw.gpu.recommended_action", "replace_gpu")},
		{"hw.gpu.ring_timeout", plog.SeverityNumberError, "ring gfx_0.0.0 did not complete a job in time" + card + ", process 4711 (python3); restart the application", attrs(
			"hw.gpu.ring", "gfx_0.0.0", "process.pid", int64(4711), "process.executable.name", "python3", "hw.gpu.recommended_action", "restart_app")},
		{"hw.gpu.reset", plog.SeverityNumberFatal, "GPU reset failed" + card + "; restart the node", attrs(
			"hw.gpu.reset.state", "failed", "hw.gpu.recommended_action", "restart_bm")},
		{"hw.gpu.pcie_error", plog.SeverityNumberError, "non-fatal PCI Express error on nvidia0 (NVIDIA H100 80GB HBM3); restart the application; the kernel says " +
			`"pcieport 0000:9a:01.0: PCIe Bus Error: severity=Uncorrectable (Non-Fatal), type=Data Link Layer, (Transmitter ID)"`, attrs(
			"error.type", "non_fatal", "hw.gpu.pcie.layer", "data link", "hw.gpu.pcie.address", "0000:9a:01.0", "hw.gpu.recommended_action", "restart_app")},
		{"hw.gpu.lost", plog.SeverityNumberFatal, `nvidia0 has fallen off the bus; restart the node; the kernel says "GPU 0000:9b:00.0: GPU has fallen off the bus."`, attrs(
			"hw.gpu.recommended_action", "restart_bm")},
		{"hw.gpu.switch_error", plog.SeverityNumberError, `fatal error (SXid 20034) on nvidia-nvswitch1; check the fabric manager of the node, and end what uses the switch; ` +
			`the kernel says "Link 48 LTSSM Fault Up"`, attrs("error.type", "20034", "hw.gpu.interconnect.fatal", true, "hw.gpu.interconnect.link", "48",
			"hw.gpu.pcie.address", "0000:06:00.0", "hw.gpu.recommended_action", "check_fabric")},
		{"hw.gpu.switch_error", plog.SeverityNumberWarn, `non-fatal error (SXid 10003) on nvidia-nvswitch0; the kernel says "Host_unhandled_interrupt"`, attrs(
			"error.type", "10003", "hw.gpu.interconnect.fatal", false, "hw.gpu.pcie.address", "0000:05:00.0", "hw.gpu.recommended_action", "check_fabric")},
	}
	require.Len(t, records, len(want))
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	for i, record := range records {
		assert.Equal(t, want[i].name, record.EventName())
		assert.Equal(t, want[i].severity, record.SeverityNumber(), want[i].body)
		assert.Equal(t, want[i].body, record.Body().AsString())
		attributes := record.Attributes().AsRaw()
		for name, value := range want[i].attributes {
			assert.Equal(t, value, attributes[name], "%s of %s", name, want[i].body)
			delete(attributes, name)
		}
		for _, name := range []string{"hw.vendor", "hw.id", "hw.name"} {
			assert.Equal(t, name != "hw.id" || record.EventName() != "hw.gpu.switch_error", attributes[name] != nil, "%s: an error of a switch is of no GPU", name)
			delete(attributes, name)
		}
		delete(attributes, "hw.model")
		if len(faultEvents()[i].Holders) > 0 {
			assert.Equal(t, []any{"team/train-0/main"}, attributes["hw.gpu.held_by"])
			assert.Equal(t, []any{}, attributes["hw.gpu.used_by"])
			assert.Equal(t, "train-0", attributes["k8s.pod.name"])
		} else {
			assert.Len(t, attributes, 1, "the uid")
		}
		assert.Empty(t, declared.EventViolations(record.EventName(), record.Attributes()))
	}
}

// What only the kernel's log has decides whether it is followed for a vendor.
func TestOfKernelLog(t *testing.T) {
	cfg := metadata.DefaultEventsConfig()
	assert.True(t, OfKernelLog(&cfg, gpu.NVIDIA))
	assert.True(t, OfKernelLog(&cfg, gpu.AMD))
	assert.False(t, OfKernelLog(&cfg, ""))
	enable(&cfg, false)
	assert.False(t, OfKernelLog(&cfg, gpu.NVIDIA))
	assert.False(t, OfKernelLog(&cfg, gpu.AMD))
	cfg.HwGpuReset.Enabled = true
	assert.True(t, OfKernelLog(&cfg, gpu.AMD))
	assert.False(t, OfKernelLog(&cfg, gpu.NVIDIA))
}
