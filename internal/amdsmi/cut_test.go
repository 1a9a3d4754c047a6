// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestOutputsCut(t *testing.T) {
	t.Parallel()
	for directory, calls := range map[string][]string{
		"amd-smi-24.5.2":  {"list", "static", "metric -u", "metric -P"},
		"amd-smi-6.0":     {"list", "static", "metric -u", "process"},
		"amd-smi-7.0-dpx": {"list", "static", "metric -u", "process", "xgmi", "metric -P"},
		"amd-smi-7.2-spx": {"list", "static", "metric -u", "process"},
	} {
		t.Run(directory, func(t *testing.T) {
			t.Parallel()
			smitest.CutAnywhere(t, func(t *testing.T) (*smitest.Tool, gpu.Source) {
				t.Helper()
				tool := smitest.AMDTool(t, directory)
				return tool, newTestSource(tool)
			}, calls...)
		})
	}
}
