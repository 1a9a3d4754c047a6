// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	fmt.Println("| pair | points | CPU a read | the floor | times the floor | anonymous memory above empty | the floor's | a line of memory in no cache |")
	fmt.Println("|---|---|---|---|---|---|---|---|")
	var ours, floor []time.Duration
	var ratios []float64
	var memory []int64
	for i := range m.options.rounds {
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
		baseline, err := m.measure(known)
		if err != nil {
			return err
		}
		a, b := reading.perScrape(empty), baseline.perScrape(empty)
		ours, floor = append(ours, a), append(floor, b)
		ratios, memory = append(ratios, float64(a)/float64(b)), append(memory, reading.anonymous-empty.anonymous)
		fmt.Printf("| %d | %d | %.2f ms | %.2f ms | %.2f | %s | %s | %v |\n", i+1, baseline.points, ms(a), ms(b), ratios[i],
			mib(memory[i]), mib(baseline.anonymous-empty.anonymous), coldLine())
	}
	fmt.Printf("| median | | %.2f ms | %.2f ms | %.2f | %s | | |\n", ms(middle(ours)), ms(middle(floor)), middle(ratios), mib(middle(memory)))
	return nil
}

func middle[T cmp.Ordered](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}
