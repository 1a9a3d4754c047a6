// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The activity of VCN under the names of all versions, and which of them counts if there are several.
func TestMediaUtilization(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		usage string
		want  gpu.Opt[float64]
	}{
		"a list":               {`{"vcn_activity": [{"value": 10, "unit": "%"}, {"value": 30, "unit": "%"}, "N/A"], "mm_activity": {"value": 3, "unit": "%"}}`, gpu.Some(0.2)},
		"by partition":         {`{"vcn_activity": ["N/A"], "vcn_busy": {"xcp_0": [{"value": 10, "unit": "%"}], "xcp_1": [{"value": 30, "unit": "%"}, "N/A"]}}`, gpu.Some(0.2)},
		"one value":            {`{"vcn_activity": ["N/A"], "vcn_busy": {"value": 40, "unit": "%"}, "mm_activity": {"value": 3, "unit": "%"}}`, gpu.Some(0.4)},
		"of an APU":            {`{"vcn_activity": "N/A", "apu_average_vcn_activity": {"value": 50, "unit": "%"}}`, gpu.Some(0.5)},
		"of the table":         {`{"vcn_activity": "N/A", "vcn_busy": "N/A", "mm_activity": {"value": 3, "unit": "%"}}`, gpu.Some(0.03)},
		"none":                 {`{"vcn_activity": "N/A", "vcn_busy": "N/A", "mm_activity": "N/A"}`, gpu.Opt[float64]{}},
		"all bits of a number": {`{"vcn_activity": [{"value": 65535, "unit": "%"}]}`, gpu.Opt[float64]{}},
	} {
		var d gpu.Device
		readUsage(record{"usage": smitest.Decoded(t, tt.usage)}.section("usage"), &d)
		assert.Equal(t, tt.want, d.Utilization[gpu.TaskMedia], name)
	}
}

func TestByPartition(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]gpu.Opt[float64]{
		`{"xcp_0": ["1", "2", "N/A", "N/A"], "xcp_1": ["3", "4", "N/A", "N/A"]}`:                   {gpu.Some(0.01), gpu.Some(0.02), gpu.Some(0.03), gpu.Some(0.04)},
		`{"value": {"xcp_0": ["1", "2"]}, "unit": ""}`:                                             {gpu.Some(0.01), gpu.Some(0.02)},
		`{"xcp_1": ["3", "4"], "xcp_0": ["1", "N/A"]}`:                                             {gpu.Some(0.01), {}, gpu.Some(0.03), gpu.Some(0.04)},
		`{"xcp_0": ["N/A", "2", "N/A"]}`:                                                           {{}, gpu.Some(0.02)},
		`{"xcp_0": {"value": 1, "unit": "%"}, "xcp_1": "N/A", "xcp_2": {"value": 3, "unit": "%"}}`: {gpu.Some(0.01), {}, gpu.Some(0.03)},
		`["1", "2", "N/A"]`:                    {gpu.Some(0.01), gpu.Some(0.02)},
		`{"xcp_0": ["N/A"], "xcp_1": ["N/A"]}`: nil,
		`{"xcp_64": ["1"], "gfx": ["2"]}`:      nil,
		`"N/A"`:                                nil,
		`7`:                                    nil,
	} {
		assert.Equal(t, want, xccUtilization(smitest.Decoded(t, text)), text)
	}
}
