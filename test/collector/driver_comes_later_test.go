// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// onTheBus counts the GPUs of some vendors on the PCI bus of the machine that runs the test.
func onTheBus(t *testing.T, vendors ...string) int {
	t.Helper()
	devices, err := filepath.Glob("/sys/bus/pci/devices/*")
	require.NoError(t, err)
	count := 0
	for _, device := range devices {
		vendor, _ := os.ReadFile(filepath.Join(device, "vendor"))
		class, _ := os.ReadFile(filepath.Join(device, "class"))
		_, virtual := os.Lstat(filepath.Join(device, "physfn"))
		if slices.Contains(vendors, strings.TrimSpace(string(vendor))) && virtual != nil && strings.HasPrefix(string(class), "0x03") {
			count++
		}
	}
	return count
}

// install replaces a file atomically, as a package manager does.
func install(t *testing.T, source, target string) {
	t.Helper()
	content, err := os.ReadFile(source)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(target+".new", content, 0o600))
	require.NoError(t, os.Rename(target+".new", target))
}

// A machine without a driver, or with another file instead of it: one log line names what was tried and the remedy, the GPUs on the bus are
// counted, and when the driver is installed there is data.
func TestDriverComesLater(t *testing.T) {
	t.Parallel()
	lib := simulator(t)
	for name, c := range map[string]struct {
		place func(t *testing.T, path string)
		said  string
	}{
		"no library": {
			place: func(*testing.T, string) {},
			said:  "cannot open shared object file",
		},
		"a library that is not NVML": {
			place: func(t *testing.T, path string) { t.Helper(); install(t, lib.NotNVML, path) },
			said:  "is not NVIDIA's management library",
		},
		"garbage": {
			place: func(t *testing.T, path string) {
				t.Helper()
				require.NoError(t, os.WriteFile(path, []byte("this is no library"), 0o600))
			},
			said: "file too short",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
			c.place(t, path)
			n := start(t, spec{interval: patient, nvml: "{library_path: " + path + "}"})
			nothing := n.next("a node without GPUs", func(p harness.Points) bool { return len(p) > 0 })
			total := 0.0
			for _, p := range nothing {
				require.Contains(t, []string{"hw.gpu.count", "hw.gpu.source.readable", "hw.gpu.source.failure"}, p.Metric)
			}
			for _, p := range nothing.Select("hw.gpu.count") {
				total += p.Value
			}
			assert.Equal(t, []string{"missing", "unmanaged"}, nothing.Distinct("hw.gpu.presence"), "whether a GPU could be read is not known")
			assert.Equal(t, onTheBus(t, "0x10de"), int(total))
			n.scrapes(4)
			require.Len(t, n.process.Complaints(), 1, "said once")
			line := n.process.Complaints()[0]
			assert.Contains(t, line, path)
			assert.Contains(t, line, c.said)
			assert.Contains(t, line, "set library_path")

			install(t, lib.Full, path)
			n.next("the driver that has come", full(8))
			for _, line := range n.process.Complaints()[1:] {
				assert.Contains(t, line, "has changed since the last read", "the driver is being installed")
			}
			n.interrupt()
		})
	}
}

// touch changes the modification time of a file.
func touch(t *testing.T, path string) {
	t.Helper()
	now := time.Now()
	require.NoError(t, os.Chtimes(path, now, now))
}
