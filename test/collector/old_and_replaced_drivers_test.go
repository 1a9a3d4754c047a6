// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Libraries that export only the functions of their driver version still yield the values that this version supports.
func TestOldDrivers(t *testing.T) {
	t.Parallel()
	lib := simulator(t)
	for name, path := range map[string]string{"450": lib.Driver450, "470": lib.Driver470} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, spec{
				interval: patient,
				nvml:     fmt.Sprintf("{library_path: %q}", path),
				scenario: "gpus = 2\n[gpu *]\nboard = a100\nutil.gpu = 40\npower = 123\n[process p]\ngpu = *\npid = 4711\nmemory = 3Gi\nsm = 30",
			})
			points := n.next("two GPUs", func(p harness.Points) bool { return full(2)(p) && len(p.Select("process.gpu.utilization")) > 0 })
			for _, metric := range []string{
				"hw.gpu.utilization", "hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.temperature", "hw.power", "hw.power.limit",
				"hw.energy", "hw.gpu.speed", "hw.gpu.performance_state", "hw.gpu.pcie.generation", "hw.gpu.info",
			} {
				assert.Len(t, points.Select(metric).Distinct("hw.id"), 2, metric)
			}
			value, _ := points.Value("hw.power", "hw.name", "nvidia1")
			assert.InDelta(t, 123, value, 0.001)
			memory := points.Select("process.gpu.memory.usage", "process.pid", "4711")
			require.Len(t, memory, 2)
			assert.InDelta(t, 3<<30, memory[0].Value, 0)
			assert.Empty(t, n.process.Complaints(), "what a driver does not have is no problem")
			n.interrupt()
		})
	}
}

// The driver is upgraded while the collector runs. The old library cannot be unloaded from a process: the GPUs are failed with
// driver_mismatch, the health check fails after recovery_duration, and a restarted collector gets data again.
func TestDriverUpgraded(t *testing.T) {
	t.Parallel()
	lib := simulator(t)
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	install(t, lib.Driver470, path)
	s := spec{interval: patient, nvml: fmt.Sprintf("{library_path: %q}", path)}
	n := start(t, s)
	n.next("eight GPUs", full(8))
	n.healthy()

	install(t, lib.Full, path)
	n.set("[fault f]\nreturn = LIB_RM_VERSION_MISMATCH")
	since := time.Now()
	points := n.next("the mismatch", func(p harness.Points) bool {
		return len(p.Select("hw.gpu.fault", "error.type", "driver_mismatch").Distinct("hw.id")) == 8
	})
	for i := range 8 {
		failed, ok := points.Value("hw.status", "hw.id", gpu(i), "hw.state", "failed")
		assert.True(t, ok)
		assert.InDelta(t, 1, failed, 0)
	}
	missing, _ := points.Value("hw.gpu.count", "hw.gpu.presence", "missing")
	assert.InDelta(t, 8, missing, 0)
	requireUnhealthy(t, n, since, "restart the collector")

	mentions := 0
	for _, line := range n.process.Complaints() {
		if assert.NotContains(t, line, "health_check") {
			mentions++
		}
	}
	assert.LessOrEqual(t, mentions, 3, "said once that the library was replaced, once that it does not fit, and once what that is for the GPUs")
	n.scrapes(3)
	assert.Len(t, n.process.Complaints(), mentions)

	// The orchestrator restarts it.
	n.interrupt()
	require.NoError(t, n.control.Write(""))
	n.run(s)
	n.next("eight GPUs, by the new library", full(8))
	n.healthy()
	n.interrupt()
}

// The library differs from the kernel driver's version from the start.
func TestDriverMismatchAtStart(t *testing.T) {
	t.Parallel()
	n := prepare(t, spec{})
	require.NoError(t, n.control.Write("[fault f]\nfunction = nvmlInit\nreturn = LIB_RM_VERSION_MISMATCH"))
	since := time.Now()
	n.run(spec{})
	n.next("a scrape", func(harness.Points) bool { return true })
	requireUnhealthy(t, n, since, "restart the collector")
	assert.Len(t, n.process.Complaints(), 1)
	n.interrupt()
}

// requireUnhealthy requires that the health check passes for recovery_duration, and then fails and reports the reason.
func requireUnhealthy(t *testing.T, n *node, since time.Time, reason string) {
	t.Helper()
	var body string
	for ; ; time.Sleep(tick) {
		code, answer := n.health()
		body = answer
		if code == http.StatusInternalServerError {
			break
		}
		require.Equal(t, http.StatusOK, code, body)
		require.Less(t, time.Since(since), patience, "the health check fails")
	}
	assert.GreaterOrEqual(t, time.Since(since), recovery, "not before recovery_duration")
	assert.Contains(t, body, "StatusRecoverableError")
	assert.Contains(t, body, reason)
}

// healthy waits until the health check passes, without a component that recovers.
func (n *node) healthy() {
	n.t.Helper()
	eventually(n.t, patience, "the health check passes", func() bool {
		code, body := n.health()
		return code == http.StatusOK && strings.Contains(body, `"StatusOK"`)
	})
}

// A collector that recovers without a restart becomes healthy without one.
func TestMismatchThatEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	install(t, simulator(t).Full, path)
	n := start(t, spec{nvml: fmt.Sprintf("{library_path: %q}", path)})
	n.next("eight GPUs", full(8))
	n.set("[fault f]\nreturn = LIB_RM_VERSION_MISMATCH")
	n.next("the mismatch", hasFault("driver_mismatch"))
	require.NoError(t, n.control.Write(""))
	touch(t, path) // a sign of the driver; it is tried again immediately
	n.next("eight GPUs again", full(8))
	n.healthy()
	n.interrupt()
}

// A removed driver does not require a restart: it is found again when it is back.
func TestDriverReloaded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	install(t, simulator(t).Full, path)
	n := start(t, spec{nvml: fmt.Sprintf("{library_path: %q}", path)})
	n.next("eight GPUs", full(8))
	n.set("[fault f]\nkind = driver")
	n.next("no driver", func(points harness.Points) bool {
		return len(points.Select("hw.gpu.source.failure", "error.type", "driver")) == 1 && len(points.Select("hw.status")) == 0
	})
	require.NoError(t, n.control.Write(""))
	touch(t, path)
	n.next("eight GPUs again", full(8))
	n.healthy()
	n.interrupt()
}
