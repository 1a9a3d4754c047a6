// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command explorer writes docs/reference/explorer.html, a page on which people look up metrics, events and attributes: `make generate`.
// It reads metadata.yaml, the tables of docs/reference/metrics.md and docs/reference/events.md, and the golden files of testdata/golden.
//
//	explorer REPOSITORY
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: explorer REPOSITORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "explorer:", err)
		os.Exit(1)
	}
}

// write writes the page of a repository.
func write(repository string) error {
	declared, err := readDeclared(filepath.Join(repository, "metadata.yaml"))
	if err != nil {
		return err
	}
	readings, readingsErr := readReadings(filepath.Join(repository, "docs", "reference", "metrics.md"))
	events, eventsErr := readEvents(filepath.Join(repository, "docs", "reference", "events.md"))
	partitions, partitionsErr := readPartitionMetrics(filepath.Join(repository, "testdata", "golden"))
	if err := errors.Join(readingsErr, eventsErr, partitionsErr); err != nil {
		return err
	}
	p, err := newPage(declared, readings, events, partitions)
	if err != nil {
		return err
	}
	content, err := p.render()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(repository, "docs", "reference", "explorer.html"), content, 0o644) //nolint:gosec // everyone may read a page of the documentation
}
