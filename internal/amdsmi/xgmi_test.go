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

// The states of links, without the traffic, and with links whose speed is not known.
func TestXGMIStates(t *testing.T) {
	t.Parallel()
	text := ""
	tool := twoGPUs()
	answer := tool.Answer
	tool.Answer = func(args string) (command.Result, error) {
		if strings.HasPrefix(args, "xgmi") {
			return smitest.Prints(text)
		}
		return answer(args)
	}
	const groups = gpu.GroupInterconnectState | gpu.GroupInterconnectSpeed
	up, down := gpu.Some(true), gpu.Some(false)
	for _, tt := range []struct {
		name, text string
		want       []gpu.Link
	}{
		{"states alone", `{"link_status": [{"gpu": 0, "link_status": ["SELF", "U", "D", "X", "N/A", "U/U", "U/D", "D/U", "U/X"]}]}`, []gpu.Link{
			{Name: "1", Up: up}, {Name: "2", Up: down}, {Name: "5", Up: up}, {Name: "6", Up: down}, {Name: "7", Up: down}, {Name: "8", Up: up},
		}},
		{"speed", `{"xgmi_metric": [{"gpu": 0, "link_metrics": {"bit_rate": {"value": 25, "unit": "Gb/s"}, "max_bandwidth": {"value": 400, "unit": "Gb/s"},` +
			`"links": [{"read": "N/A", "write": "N/A"}, {"read": {"value": 1, "unit": "KB"}, "write": "N/A"}]}}]}`, []gpu.Link{
			{Name: "1", Bandwidth: gpu.Some(50e9), Width: gpu.Some[int64](16)},
		}},
		{"no whole number of lanes", `[{"gpu": 0, "link_metrics": {"bit_rate": "32 Gb/s", "max_bandwidth": "500 Gb/s", "links": [{"read": "1 KB", "write": "1 KB"}]}}]`, []gpu.Link{
			{Name: "0", Bandwidth: gpu.Some(62.5e9)},
		}},
		{"a lane of no speed", `[{"gpu": 0, "link_metrics": {"bit_rate": "0 Gb/s", "max_bandwidth": "0 Gb/s", "links": [{"read": "1 KB", "write": "1 KB"}]}}]`, nil},
		{"no link", `{"xgmi_metric": [{"gpu": 0, "link_metrics": {"bit_rate": "N/A", "max_bandwidth": "N/A", "link_type": "PCIE",` +
			`"links": [{"read": "N/A", "write": "N/A"}]}}], "link_status": [{"gpu": 0, "link_status": ["SELF", "N/A"]}]}`, nil},
		{"no lists", `{"xgmi_metric": [{"gpu": 0, "link_metrics": "N/A"}], "link_status": [{"gpu": 0, "link_status": "N/A"}, {"gpu": "x"}]}`, nil},
	} {
		text = tt.text
		s := New(&Config{}, tool, groups, WithClock(smitest.EveryHalfMinute()))
		d := smitest.Device(t, smitest.Read(t, s), "000000000000000c")
		assert.Equal(t, tt.want, d.Interconnect.Links, tt.name)
		for range tt.want {
			assert.Equal(t, gpu.XGMI, d.Interconnect.Type, tt.name)
		}
	}
}

// A version that does not know the states, and one that ends with an exception when it reads them, still print the traffic.
func TestXGMIWithoutStates(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]*smitest.Tool{
		"unknown": smitest.AMDTool(t, "amd-smi-7.0-dpx", "-l"), "exception": smitest.AMDTool(t, "amd-smi-7.0-dpx"),
	} {
		answer := tool.Answer
		tool.Answer = func(args string) (command.Result, error) {
			if name == "exception" && strings.Contains(args, " -l ") {
				return smitest.Fails(1, "", "Traceback (most recent call last):\n  File\nKeyError: 'status'\n")
			}
			return answer(args)
		}
		s := newTestSource(tool)
		for range 2 {
			d := smitest.Device(t, smitest.Read(t, s), "8f1457e2c20f59d2")
			assert.Equal(t, gpu.Total[int64](1030<<10), d.Interconnect.Received, name)
		}
		assert.Contains(t, tool.Runs[1], "xgmi -m --json", name)
		assert.Contains(t, tool.Runs[2], "xgmi -m --json", "%s: not tried again at once", name)
	}
}
