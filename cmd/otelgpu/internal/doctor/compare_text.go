// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/compare"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// text returns the values of a comparison, a table for each device.
func (c *Comparison) text() string {
	var b strings.Builder
	for begin := 0; begin < len(c.Rows); {
		end := begin
		for end < len(c.Rows) && c.Rows[end].Device == c.Rows[begin].Device {
			end++
		}
		fmt.Fprintf(&b, "\n%s\n", gpu.CleanText(c.Rows[begin].Device))
		b.WriteString(table(c, c.Rows[begin:end]))
		begin = end
	}
	return b.String()
}

func table(c *Comparison, rows []compare.Row) string {
	var cells [][]string
	for i := range rows {
		r := &rows[i]
		ours := shown(r.Before)
		if r.After != r.Before {
			ours += " … " + shown(r.After)
		}
		verdict := ""
		switch r.Verdict {
		case compare.Same:
		case compare.Differs:
			verdict = "DIFFERS"
			if r.Tolerance > 0 {
				verdict += ", tolerance " + shown(r.Tolerance)
			}
		case compare.OnlyOurs, compare.OnlyTool:
			verdict = string(r.Verdict)
		}
		cells = append(cells, []string{"  " + r.Quantity, ours, shown(r.Tool), r.Unit, verdict})
	}
	return display.Table([]string{"  QUANTITY", strings.ToUpper(c.Source), "TOOL", "UNIT", ""}, []bool{false, true, true, false, false}, cells)
}

// shown is a value as a table has it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "-"
	case float64:
		return strconv.FormatFloat(v, 'g', 12, 64)
	default:
		return gpu.CleanText(fmt.Sprint(v))
	}
}
