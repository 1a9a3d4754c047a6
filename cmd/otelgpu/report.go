// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/ledger"
)

// envLedger names the ledger.
const envLedger = "OTELGPU_LEDGER"

func runReport(ctx context.Context, args []string, out io.Writer) error {
	var (
		server               serverFlags
		o                    ledger.Options
		since, until, prices string
	)
	flags := newFlags("otelgpu report")
	flags.StringVar(&server.server, "server", "", "`URL` of the gpu_ledger exporter (default $"+envLedger+" or "+ledger.DefaultServer+")")
	server.register(flags)
	flags.StringVar(&since, "since", "30d", "the beginning: a `TIME` ago (12h, 30d), a day (2026-01-02) or a time (2026-01-02T03:04:05Z)")
	flags.StringVar(&until, "until", "", "the end, as --since; now by default")
	flags.StringVar(&o.By, "by", "namespace", "a line for each `GROUP`: "+strings.Join(ledger.Groups, ", "))
	flags.StringVar(&o.Label, "label", "", "with --by label: the `NAME` of a label or annotation of pods")
	flags.StringVar(&prices, "prices", "", "`FILE` with prices, for costs")
	flags.StringVar(&o.Output, "output", "table", "output `FORMAT`: table, csv or json")
	words, err := parse(flags, args, "It prints GPU-hours, kWh and costs from the database of a Collector with the gpu_ledger exporter.", out)
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return usageErrorf("report %q; it has only flags", strings.Join(words, " "))
	case !slices.Contains(ledger.Groups, o.By):
		return usageErrorf("--by %s; give one of %s", o.By, strings.Join(ledger.Groups, ", "))
	case (o.By == "label") != (o.Label != ""):
		return usageErrorf("--by label and --label NAME belong together; give both")
	case !slices.Contains(ledger.Outputs, o.Output):
		return usageErrorf("--output %s; give one of %s", o.Output, strings.Join(ledger.Outputs, ", "))
	}
	now := time.Now()
	if o.Since, err = timeOf("--since", since, now); err != nil {
		return err
	}
	if o.Until, err = timeOf("--until", cmp.Or(until, "0h"), now); err != nil {
		return err
	}
	if !o.Since.Before(o.Until) {
		return usageErrorf("--since is not before --until; give an earlier time")
	}
	if prices != "" {
		if o.Prices, err = ledger.ReadPrices(prices); err != nil {
			return err
		}
	}
	server.server = cmp.Or(server.server, os.Getenv(envLedger), ledger.DefaultServer)
	c, err := server.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return ledger.Run(ctx, c, &o, out)
}

// timeOf returns a time that is given as itself, as a day, or as how long it is ago.
func timeOf(flag, text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 {
			return now.Add(-time.Duration(n) * 24 * time.Hour), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usageErrorf("%s %s; give a time ago such as 12h or 30d, a day or a time such as 2026-01-02T03:04:05Z", flag, text)
}
