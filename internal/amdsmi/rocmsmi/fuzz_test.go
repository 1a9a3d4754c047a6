// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func FuzzJSON(f *testing.F) {
	smitest.AddSeeds(f, "rocm-smi-*.json")
	f.Add([]byte("WARNING: low-power state\n{\"card0\": {\"PCI Bus\": \"0000:03:00.1\", \"Compute Partition\": \"CPX\", \"GPU use (%)\": \"65535\"}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(&Config{}, &smitest.Tool{Answer: func(args string) (command.Result, error) {
			if strings.HasPrefix(args, "--json") {
				return command.Result{Stdout: b}, nil
			}
			return smitest.Prints("== GPUs Indexed by PID ==\nPID 31337 is using 2 DRM device(s):\n0 1 \n")
		}}, gpu.GroupAll)
		node, err := s.Read(t.Context())
		if (node == nil) == (err == nil) {
			t.Fatalf("node %v, error %v", node, err)
		}
		if node != nil {
			smitest.Believable(t, node)
		}
	})
}

func FuzzTables(f *testing.F) {
	smitest.AddSeeds(f, "rocm-smi-*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		tables := parseTables(b)
		for pid := range tables.processCards {
			if pid <= 0 {
				t.Errorf("process %d", pid)
			}
		}
		for _, errors := range tables.errors {
			for _, e := range errors {
				if n, ok := e.Count.Get(); !ok || n < 0 {
					t.Errorf("%d errors", n)
				}
			}
		}
	})
}
