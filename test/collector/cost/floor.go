// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// heldReceiver sends the points of a message that it holds. It is part of the collector of scripts/build-floor.sh.
const heldReceiver = "held: {interval: INTERVAL, file: FILE}"

// floor measures the collector of a setup, alternating with the same collector sending the same points without reading them, because the
// speed of the machine varies from minute to minute.
func (m *meter) floor(s setup, empties empties) error {
	empty, err := empties.startedAs(s.launch)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cost-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "message")
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "CPU a scrape\tpoints\treading\theld in memory\ta line of memory in no cache")
	var ours, floor []time.Duration
	for range m.options.rounds {
		reading, err := m.measure(s)
		if err != nil {
			return err
		}
		text, err := (&pmetric.ProtoMarshaler{}).MarshalMetrics(reading.message)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return err
		}
		known := s
		known.receiver = strings.ReplaceAll(heldReceiver, "FILE", file)
		held, err := m.measure(known)
		if err != nil {
			return err
		}
		ours, floor = append(ours, reading.perScrape(empty)), append(floor, held.perScrape(empty))
		_, _ = fmt.Fprintf(w, "\t%d\t%.2f ms\t%.2f ms\t%v\n", held.points, ms(reading.perScrape(empty)), ms(held.perScrape(empty)), coldLine())
	}
	_, _ = fmt.Fprintf(w, "median\t\t%.2f ms\t%.2f ms\t\n", ms(middle(ours)), ms(middle(floor)))
	return w.Flush()
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
