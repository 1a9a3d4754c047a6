// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && !race

package gpureceiver

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
)

// maxResident is what a collector may have in memory at any time while a tool prints without end, in KiB.
const maxResident = 150 << 10

// floodKey is the environment variable that makes TestFloodedProcess run in a process of its own: the key of a scraper.
const floodKey = "GPURECEIVER_TEST_FLOOD"

// A tool that prints without end at each call never makes the collector grow, whatever it prints. Each case is a process of its own, whose
// highest memory (VmHWM) the kernel has measured. The race detector takes several times the memory.
func TestFloodingToolIsBounded(t *testing.T) {
	const xml = `echo '<nvidia_smi_log><gpu id="00000000:01:00.0"><uuid>GPU-1</uuid>'; `
	for name, tt := range map[string]struct{ tool, query, script string }{
		"garbage":                     {"nvidia-smi", "full", `exec cat /dev/zero`},
		"one line of cells":           {"nvidia-smi", "fast", `yes 'a, ' | tr -d '\n'`},
		"rows":                        {"nvidia-smi", "fast", `echo index, uuid; exec yes '0, GPU-1'`},
		"GPUs":                        {"nvidia-smi", "full", `echo '<nvidia_smi_log>'; exec yes '<gpu id="00000000:01:00.0"><uuid>GPU-1</uuid></gpu>'`},
		"processes":                   {"nvidia-smi", "full", xml + `echo '<processes>'; exec yes '<process_info><pid>1</pid></process_info>'`},
		"UTF-16":                      {"nvidia-smi", "full", `printf '\377\376'; exec yes '<a>'`},
		"records":                     {"amd-smi", "", `echo '['; exec yes '{"gpu": 0, "a": {"b": [1, 2, 3]}},'`},
		"empty records, in 8 million": {"amd-smi", "", `echo '['; yes '{},' | head -n 1990000; echo '{}]'`},
		"members":                     {"rocm-smi", "", `echo '{"card0": {'; exec yes '"a": "b",'`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.tool)
			commandtest.WriteScript(t, path, tt.script)
			self, err := os.Executable()
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFloodedProcess$", "-test.v")
			cmd.Env = append(os.Environ(), floodKey+"="+path, floodKey+"_QUERY="+tt.query)
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			match := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(out)
			require.NotNil(t, match, "%s", out)
			highest, err := strconv.Atoi(string(match[1]))
			require.NoError(t, err)
			t.Logf("%d MiB", highest>>10)
			assert.Less(t, highest, maxResident)
		})
	}
}

// TestFloodedProcess is the other process: a receiver that reads the tool some times.
func TestFloodedProcess(t *testing.T) {
	path := os.Getenv(floodKey)
	if path == "" {
		t.Skip("part of TestFloodingToolIsBounded")
	}
	key := map[string]string{"nvidia-smi": "nvidia_smi", "amd-smi": "amd_smi", "rocm-smi": "rocm_smi"}[filepath.Base(path)]
	settings := map[string]any{"path": path}
	if query := os.Getenv(floodKey + "_QUERY"); query != "" {
		settings["query"] = query
	}
	r := newRigOf(t, openSource)
	require.NoError(t, confmap.NewFromStringMap(map[string]any{
		"collection_interval": "100ms", "initial_delay": "0s", "timeout": "20s", "scrapers": map[string]any{key: settings},
	}).Unmarshal(r.cfg))
	messages := make(chan struct{}, 1000)
	next, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error {
		messages <- struct{}{}
		return nil
	})
	require.NoError(t, err)
	m, err := r.factory.createMetrics(t.Context(), r.set, r.cfg, next)
	require.NoError(t, err)
	require.NoError(t, m.Start(t.Context(), r.host))
	for range 4 {
		select {
		case <-messages:
		case <-time.After(time.Minute):
			t.Fatal("no read ends")
		}
	}
	require.NoError(t, m.Shutdown(context.Background()))
	for _, entry := range r.log.All() {
		t.Log(entry.Message, entry.ContextMap()["reason"])
	}
	status, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	fmt.Println(regexp.MustCompile(`VmHWM:.*`).FindString(string(status)))
}
