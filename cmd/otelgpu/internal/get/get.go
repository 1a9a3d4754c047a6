// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package get prints lists of the API for scripts: as a table for people, as the API's JSON, or as the API's CSV.
package get // import "github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/get"

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

// Options are what to print and how.
type Options struct {
	Output  string        // table, json, csv
	Filters url.Values    // parameters of the API
	Limit   int           // entries at most; 0: all
	Wait    time.Duration // for an answer with an entry at most; 0: take the first answer
}

// Outputs are the forms of output.
var Outputs = []string{"table", "json", "csv"}

// Run prints a list. It prints a note if there are more entries than it printed.
func Run(ctx context.Context, c *client.Client, r Resource, o Options, out, notes io.Writer) error {
	text, printed, total, err := await(ctx, c, r, o)
	if err != nil {
		return err
	}
	if _, err := out.Write(text); err != nil {
		return fmt.Errorf("write the %s: %w", r.Name, err)
	}
	if printed < total {
		_, _ = fmt.Fprintf(notes, "otelgpu: %d of %d %s; --all prints all\n", printed, total, r.Name)
	}
	return nil
}

// form returns what to print, how many entries that is, and how many there are.
func form(ctx context.Context, c *client.Client, r Resource, o Options) (text []byte, printed, total int, err error) {
	if o.Output == "csv" {
		lines, total, err := c.CSV(ctx, r.path, o.Filters, o.Limit)
		if err != nil {
			return nil, 0, 0, err
		}
		text, err = asCSV(lines)
		return text, len(lines) - 1, total, err
	}
	entries, err := c.List(ctx, r.path, o.Filters, o.Limit)
	if err != nil {
		return nil, 0, 0, err
	}
	if o.Output == "json" {
		text, err = asJSON(entries.Items)
	} else {
		text, err = r.table(entries, o)
	}
	return text, len(entries.Items), entries.Total, err
}
