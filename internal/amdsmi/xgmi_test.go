// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// TestXGMIMissingForOneRead: a link without a value in one read drops neither the other direction nor the total, and no counter falls.
func TestXGMIMissingForOneRead(t *testing.T) {
	t.Parallel()
	read, written := "", ""
	tool := twoGPUs()
	answer := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "xgmi") {
			return smitest.Prints(fmt.Sprintf(`[{"gpu": 0, "link_metrics": {"links": [{"read": "N/A", "write": "N/A"}, {"read": %s, "write": %s},`+
				`{"read": {"value": 2, "unit": "KB"}, "write": {"value": 3, "unit": "KB"}}]}}]`, read, written))
		}
		return answer(args)
	}
	s := newTestSource(tool)
	for _, tt := range []struct {
		read, written         string
		received, transmitted int64
		links                 int
	}{
		{`{"value": 10, "unit": "KB"}`, `{"value": 20, "unit": "KB"}`, 12, 23, 2},
		{`"N/A"`, `{"value": 21, "unit": "KB"}`, 12, 24, 2},
		{`"N/A"`, `"N/A"`, 12, 24, 1},
		{`{"value": 11, "unit": "KB"}`, `{"value": 22, "unit": "KB"}`, 13, 25, 2},
	} {
		read, written = tt.read, tt.written
		d := smitest.Device(t, smitest.Read(t, s), "000000000000000c")
		assert.Equal(t, gpu.Total(tt.received<<10), d.Interconnect.Received)
		assert.Equal(t, gpu.Total(tt.transmitted<<10), d.Interconnect.Transmitted)
		assert.Equal(t, gpu.XGMI, d.Interconnect.Type)
		assert.Len(t, d.Interconnect.Links, tt.links)
	}
	tool.Answer = answer
	d := smitest.Device(t, smitest.Read(t, s), "000000000000000c")
	assert.Equal(t, gpu.Interconnect{}, d.Interconnect)
}
