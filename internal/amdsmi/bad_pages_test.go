// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestBadPages(t *testing.T) {
	t.Parallel()
	const page = `{"page_address": "0x1000", "page_size": 4096, "status": "RESERVED"}`
	for _, tt := range []struct {
		name, retired, pending, unreservable string
		want                                 gpu.Opt[int64]
	}{
		{"none", `"No bad pages found."`, `"No bad pages found."`, `"No bad pages found."`, gpu.Some[int64](0)},
		{"one, without brackets", page, `"No bad pages found."`, `"No bad pages found."`, gpu.Some[int64](1)},
		{"of all kinds", `[` + page + `, ` + page + `]`, page, `[` + page + `]`, gpu.Some[int64](4)},
		{"empty lists", `[]`, `[]`, `[]`, gpu.Some[int64](0)},
		{"a GPU that does not count them", `"N/A"`, `"N/A"`, `"N/A"`, gpu.Opt[int64]{}},
		{"of one kind alone", page, `"N/A"`, `"N/A"`, gpu.Opt[int64]{}},
		{"something else", `true`, `7`, `null`, gpu.Opt[int64]{}},
	} {
		r := record{
			"retired": smitest.Decoded(t, tt.retired), "pending": smitest.Decoded(t, tt.pending), "un_res": smitest.Decoded(t, tt.unreservable),
		}
		assert.Equal(t, tt.want, badPages(r), tt.name)
	}
	assert.False(t, badPages(record{}).Known())
}

// The list of bad pages is read when static is, and its last content stays until then.
func TestBadPagesStayUntilTheyAreReadAgain(t *testing.T) {
	t.Parallel()
	tool := smitest.AMDTool(t, "amd-smi-7.0-dpx")
	s := newTestSource(tool)
	for range staticEvery + 1 {
		d := smitest.Device(t, smitest.Read(t, s), "8f1457e2c20f59d2")
		smitest.RequireValue(t, int64(3), d.RetiredPages.Bad, "bad pages")
	}
	runs := 0
	for _, run := range tool.Runs {
		for _, args := range run {
			if args == "bad-pages --json" {
				runs++
			}
		}
	}
	assert.Equal(t, 1, runs)
}

// A version without the command, and one that ends with an exception, cost nothing but the number.
func TestBadPagesRefused(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]*smitest.Tool{
		"unknown": smitest.AMDTool(t, "amd-smi-7.2-spx"), "exception": smitest.AMDTool(t, "amd-smi-7.0-dpx"),
	} {
		answer := tool.Answer
		tool.Answer = func(args string) (command.Result, error) {
			if name == "exception" && strings.HasPrefix(args, "bad-pages") {
				return smitest.Fails(1, "", "Traceback (most recent call last):\n  File\nUnboundLocalError: bad_page_info\n")
			}
			return answer(args)
		}
		s := newTestSource(tool)
		for range 2 {
			node := smitest.Read(t, s)
			assert.False(t, node.Devices[0].RetiredPages.Bad.Known(), name)
			assert.NotContains(t, smitest.Problems(node), "bad-pages", name)
		}
	}
}

// ROCm 6.1 also prints "none found" for a GPU about which it knows nothing. Pages that it lists exist.
func TestNoBadPagesWithoutRAS(t *testing.T) {
	t.Parallel()
	const none, ras = `"No bad pages found."`, `{"eeprom_version": "0x10000", "bad_page_threshold": "N/A"}`
	for _, tt := range []struct {
		static, retired string
		want            gpu.Opt[int64]
	}{
		{`, "ras": ` + ras, none, gpu.Some[int64](0)},
		{`, "ras": {"eeprom_version": "N/A", "bad_page_threshold": "N/A", "ecc_block_state": "N/A"}`, none, gpu.Opt[int64]{}},
		{`, "ras": "N/A"`, none, gpu.Opt[int64]{}},
		{``, none, gpu.Opt[int64]{}},
		{``, `[{"page_address": "0x1000"}]`, gpu.Some[int64](1)},
	} {
		tool := smitest.StaticTool(map[string]string{
			"list":      `[{"gpu": 0, "bdf": "0000:03:00.0", "hip_uuid": "GPU-000000000000000c"}]`,
			"static":    `[{"gpu": 0, "asic": {"market_name": "MI210"}` + tt.static + `}]`,
			"bad-pages": `[{"gpu": 0, "retired": ` + tt.retired + `, "pending": ` + none + `, "un_res": ` + none + `}]`,
		})
		d := smitest.Device(t, smitest.Read(t, newTestSource(tool)), "000000000000000c")
		assert.Equal(t, tt.want, d.RetiredPages.Bad, tt.static+tt.retired)
	}
}
