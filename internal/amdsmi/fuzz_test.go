// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"path/filepath"
	"testing"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// FuzzRead feeds one output to every command of a read.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"list", "static", "metric", "process", "xgmi", "pcie"} {
		smitest.AddSeeds(f, filepath.Join("amd-smi-*", name+".json"))
	}
	f.Add([]byte(`[{"gpu": 0, "bdf": "0000:03:00.0", "uuid": "32ff740f-0000-1000-80a4-d3d61bfc2208", "partition_id": 1, "usage": {"gfx_busy_inst": {"xcp_1": [7]}},
		"process_list": [{"process_info": {"pid": 3, "memory_usage": {"vram_mem": 4000}}}], "links": [{"read": {"value": 3, "unit": "KB"}}]}, {"gpu": 1, "bdf": "0000:03:00.0"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := New(&Config{}, &smitest.Tool{Answer: func(string) (command.Result, error) {
			return command.Result{Stdout: b}, nil
		}}, gpu.GroupAll)
		for range 2 {
			node, err := s.Read(t.Context())
			if (node == nil) == (err == nil) {
				t.Fatalf("node %v, error %v", node, err)
			}
			if node != nil {
				smitest.Believable(t, node)
			}
		}
	})
}
