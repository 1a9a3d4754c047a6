// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitest

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// AddSeeds adds the files of testdata that match a pattern, and the first half of each.
func AddSeeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := fs.Glob(testdata, "testdata/"+pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds in %s: %v", pattern, err)
	}
	for _, name := range files {
		b, err := testdata.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
}

// Believable checks what holds for any node, whatever a tool prints.
func Believable(t *testing.T, node *gpu.Node) {
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
		if n, _ := d.PCIe.Replays.Get(); n < 0 {
			t.Errorf("%d replays", n)
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
