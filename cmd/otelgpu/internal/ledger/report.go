// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package ledger prints who held and used GPUs and what it cost, from the API of the gpu_ledger exporter.
package ledger // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/ledger"

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/display"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// DefaultServer is the address of the ledger's reports unless it is configured otherwise.
const DefaultServer = "http://127.0.0.1:9411"

// Groups are what a report can be by, and Outputs how it can be printed.
var (
	Groups  = []string{"namespace", "label", "account", "workload", "user", "model", "node"}
	Outputs = []string{"table", "csv", "json"}
)

// Options are what a report is of.
type Options struct {
	Since, Until      time.Time
	By, Label, Output string
	Prices            *Prices // nil: no costs
}

// answer is the ledger's: GPU-seconds and joules by name and model.
type answer struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Rows  []struct {
		Name        string   `json:"name"`
		Model       string   `json:"model"`
		Held        float64  `json:"held"`
		Used        float64  `json:"used"`
		Idle        float64  `json:"idle"`
		UnknownUse  float64  `json:"unknown_use"`
		Unallocated float64  `json:"unallocated"`
		Unknown     float64  `json:"unknown"`
		Energy      *float64 `json:"energy"`
	} `json:"rows"`
}

// Row is a line: GPU-hours, kWh, and what they cost. The energy is nil if none was read. A cost is nil without the
// price of one of the models; it contains the energy that was read.
type Row struct {
	Name        string   `json:"name"`
	Held        float64  `json:"held_hours"`
	Used        float64  `json:"used_hours"`
	Idle        float64  `json:"idle_hours"`
	UnknownUse  float64  `json:"unknown_use_hours"`
	Unallocated float64  `json:"unallocated_hours"`
	Unknown     float64  `json:"unknown_hours"`
	Energy      *float64 `json:"kwh,omitempty"`
	Cost        *float64 `json:"cost,omitempty"`
	Waste       *float64 `json:"waste,omitempty"` // the cost of idle hours
}

// Run asks the ledger and prints the report.
func Run(ctx context.Context, c *client.Client, o *Options, out io.Writer) error {
	query := url.Values{"since": {o.Since.UTC().Format(time.RFC3339)}, "until": {o.Until.UTC().Format(time.RFC3339)}, "by": {o.By}}
	if o.Label != "" {
		query.Set("label", o.Label)
	}
	var a answer
	if err := c.JSON(ctx, "/api/v1/report", query, &a); err != nil {
		return err
	}
	rows := a.rows(o.Prices)
	switch o.Output {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		document := map[string]any{"since": a.Since, "until": a.Until, "by": o.By, "rows": rows}
		if o.Prices != nil {
			document["currency"] = o.Prices.Currency
		}
		return encoder.Encode(document)
	case "csv":
		w := csv.NewWriter(out)
		_ = w.Write(headings(o, "name")) // Flush keeps the error
		for _, r := range rows {
			_ = w.Write(r.cells(o, r.Name, 6))
		}
		w.Flush()
		return w.Error()
	default:
		cells := make([][]string, len(rows))
		for i, r := range rows {
			cells[i] = r.cells(o, cmp.Or(gpu.CleanText(r.Name), "-"), 2)
		}
		names := headings(o, o.By)
		right := make([]bool, len(names))
		for i := range right {
			right[i] = i > 0
		}
		_, err := io.WriteString(out, display.Table(names, right, cells))
		return err
	}
}

// rows adds up the models of each name. The one that held most is first.
func (a *answer) rows(prices *Prices) []Row {
	byName := map[string]*Row{}
	rows := []Row{}
	for _, r := range a.Rows {
		row := byName[r.Name]
		if row == nil {
			row = &Row{Name: r.Name}
			if prices != nil {
				row.Cost, row.Waste = new(float64), new(float64)
			}
			byName[r.Name] = row
		}
		row.Held += r.Held / 3600
		row.Used += r.Used / 3600
		row.Idle += r.Idle / 3600
		row.UnknownUse += r.UnknownUse / 3600
		row.Unallocated += r.Unallocated / 3600
		row.Unknown += r.Unknown / 3600
		kWh := 0.0
		if r.Energy != nil {
			kWh = *r.Energy / 3.6e6
			if row.Energy == nil {
				row.Energy = new(float64)
			}
			*row.Energy += kWh
		}
		if prices != nil {
			row.charge(prices, r.Model, r.Held/3600, r.Idle/3600, kWh)
		}
	}
	for _, row := range byName {
		rows = append(rows, *row)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Or(cmp.Compare(b.Held, a.Held), cmp.Compare(a.Name, b.Name)) })
	return rows
}

// charge adds the cost of hours on a model.
func (r *Row) charge(prices *Prices, model string, hours, idle, kWh float64) {
	if r.Cost == nil || hours == 0 {
		return
	}
	price, ok := prices.gpuHour(model)
	if !ok {
		r.Cost, r.Waste = nil, nil
		return
	}
	*r.Cost += hours*price + kWh*prices.KWh
	*r.Waste += idle * price
}

func headings(o *Options, name string) []string {
	list := []string{name, "held_hours", "used_hours", "idle_hours", "unknown_use_hours", "unallocated_hours", "unknown_hours", "kwh"}
	if o.Prices != nil {
		list = append(list, "cost", "waste")
	}
	return list
}

func (r *Row) cells(o *Options, name string, digits int) []string {
	cells := []string{name}
	for _, v := range []float64{r.Held, r.Used, r.Idle, r.UnknownUse, r.Unallocated, r.Unknown} {
		cells = append(cells, strconv.FormatFloat(v, 'f', digits, 64))
	}
	read := []*float64{r.Energy}
	if o.Prices != nil {
		read = append(read, r.Cost, r.Waste)
	}
	for _, v := range read {
		if v == nil {
			cells = append(cells, "")
		} else {
			cells = append(cells, strconv.FormatFloat(*v, 'f', digits, 64))
		}
	}
	return cells
}
