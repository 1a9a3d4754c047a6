// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", pattern, err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
}

// believable checks what holds of any node, whatever a tool prints.
func believable(t *testing.T, node *gpu.Node) {
	t.Helper()
	ids := map[string]bool{}
	for i := range node.Devices {
		d := &node.Devices[i]
		if d.ID == "" && d.Info.PCIAddress == "" {
			t.Error("a device without identity")
		}
		key := d.ID
		if key == "" {
			key = fmt.Sprint(d.Location())
		}
		if ids[key] {
			t.Errorf("two devices %q", key)
		}
		ids[key] = true
		if d.Parent != "" && !strings.HasPrefix(d.ID, d.Parent+"/") {
			t.Errorf("%q is no partition of %q", d.ID, d.Parent)
		}
		for _, v := range []gpu.Opt[float64]{d.Utilization[gpu.TaskGeneral], d.MemoryController} {
			if f, ok := v.Get(); ok && !(f >= 0 && f <= 1) {
				t.Errorf("a fraction of %v", f)
			}
		}
		for _, v := range []gpu.Opt[float64]{d.Power.Draw, d.Temperature[gpu.SensorEdge], d.Clocks[gpu.ClockGraphics].Speed} {
			if f, ok := v.Get(); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
				t.Errorf("a reading of %v", f)
			}
		}
		if n, ok := d.Memory.Usage.Get(); ok && n < 0 {
			t.Errorf("memory of %d bytes", n)
		}
		for _, e := range d.Errors {
			if n, ok := e.Count.Get(); !ok || n < 0 {
				t.Errorf("%d errors", n)
			}
		}
	}
	for i := range node.Processes {
		if p := &node.Processes[i]; p.PID <= 0 || (p.DeviceID == "") == (p.Location == gpu.Location{}) {
			t.Errorf("process %+v", p)
		}
	}
}

func FuzzROCmJSON(f *testing.F) {
	seeds(f, "rocm-smi-*.json")
	f.Add([]byte("WARNING: low-power state\n{\"card0\": {\"PCI Bus\": \"0000:03:00.1\", \"Compute Partition\": \"CPX\", \"GPU use (%)\": \"65535\"}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewROCm(&ROCmConfig{}, &fakeTool{answer: func(args string) (command.Result, error) {
			if strings.HasPrefix(args, "--json") {
				return command.Result{Stdout: b}, nil
			}
			return prints("== GPUs Indexed by PID ==\nPID 31337 is using 2 DRM device(s):\n0 1 \n")
		}}, gpu.GroupAll)
		node, err := s.Read(t.Context())
		if (node == nil) == (err == nil) {
			t.Fatalf("node %v, error %v", node, err)
		}
		if node != nil {
			believable(t, node)
		}
	})
}

func FuzzROCmTables(f *testing.F) {
	seeds(f, "rocm-smi-*.txt")
	f.Fuzz(func(t *testing.T, b []byte) {
		tables := parseROCmTables(b)
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

// FuzzAMD feeds one output to every command of a read.
func FuzzAMD(f *testing.F) {
	for _, name := range []string{"list", "static", "metric", "process", "xgmi", "pcie"} {
		seeds(f, filepath.Join("amd-smi-*", name+".json"))
	}
	f.Add([]byte(`[{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "32ff740f-0000-1000-80a4-d3d61bfc2208", "partition_id": 1, "usage": {"gfx_busy_inst": {"xcp_1": [7]}},
		"process_list": [{"process_info": {"pid": 3, "memory_usage": {"vram_mem": 4000}}}], "links": [{"read": {"value": 3, "unit": "KB"}}]}, {"gpu": 1, "bdf": "0000:03:00.0"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := NewAMD(&AMDConfig{}, &fakeTool{answer: func(string) (command.Result, error) {
			return command.Result{Stdout: b}, nil
		}}, gpu.GroupAll)
		for range 2 {
			node, err := s.Read(t.Context())
			if (node == nil) == (err == nil) {
				t.Fatalf("node %v, error %v", node, err)
			}
			if node != nil {
				believable(t, node)
			}
		}
	})
}
