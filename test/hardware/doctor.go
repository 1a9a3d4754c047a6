// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/compare"
)

// doctorTimeout bounds one comparison, and one output of the tool.
const doctorTimeout = 15 * time.Second

// doctor is one run of otelgpu doctor --compare, and what the tool printed at that time.
type doctor struct {
	name        string
	Comparisons []comparison      `json:"comparisons"`
	Failed      []string          `json:"failed,omitempty"` // what could not be read, and why
	texts       map[string]string // outputs of nvidia-smi
}

type comparison struct {
	Source string        `json:"source"`
	Tool   string        `json:"tool"`
	Rows   []compare.Row `json:"rows"`
}

func (t *test) runDoctor(ctx context.Context, name string) doctor {
	d := doctor{name: name, texts: map[string]string{}}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	config := filepath.Join(t.dir, "doctor.yaml")
	if err := os.WriteFile(config, []byte(configuration([]*source{{scraper: t.sources[0].scraper, interval: 10 * time.Second}}, t.tool)), 0o600); err != nil {
		d.Failed = append(d.Failed, err.Error())
		return d
	}
	args := []string{"doctor", "--compare", "--output", "json", "--config", config, "--timeout", doctorTimeout.String()}
	if t.tool != "" {
		args = append(args, "--tool", t.tool)
	}
	var report struct {
		Sections []struct {
			Name   string
			Checks []struct{ State, Subject, Found string }
		}
		Comparisons []comparison
	}
	if err := json.Unmarshal(output(ctx, t.program("otelgpu"), args...), &report); err != nil {
		d.Failed = append(d.Failed, "otelgpu doctor: "+err.Error())
	}
	for _, s := range report.Sections {
		for _, c := range s.Checks {
			// No exporter is needed, and the rows of a comparison show what differs.
			if c.State == "failed" && s.Name != "exporters" && (c.Subject != "compare" || len(report.Comparisons) == 0) {
				d.Failed = append(d.Failed, s.Name+": "+c.Found)
			}
		}
	}
	for _, c := range report.Comparisons {
		c.Rows = slices.DeleteFunc(c.Rows, func(r compare.Row) bool { return r.Quantity == "PCI address" })
		d.Comparisons = append(d.Comparisons, c)
	}
	if t.sources[0].vendor == nvidia {
		tool := cmp.Or(t.tool, "nvidia-smi")
		d.texts["q-"+name+".txt"] = string(output(ctx, tool, "-q"))
		d.texts["qx-"+name+".xml"] = string(output(ctx, tool, "-q", "-x"))
	}
	return d
}
