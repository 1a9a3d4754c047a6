// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNoGPUSaysWhy(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	write := func(lines string) { require.NoError(t, os.WriteFile(log, []byte(lines), 0o600)) }
	var out strings.Builder
	s := &screen{out: &out, options: options{log: log}, started: time.Now().Add(-time.Minute)}
	write("2026-11-22T10:00:00.000Z\tinfo\tstarted {\n" +
		"2026-11-22T10:00:01.000Z\twarn\tRead failed\t{\"scraper\": \"nvml\", \"what\": \"library\", \"reason\": \"no library; install the driver\"}\n")
	s.drawNothing(newView(), time.Now())
	assert.Contains(t, out.String(), "No GPU found on this machine")
	assert.Contains(t, out.String(), "  library: no library; install the driver\n", "the cause and the remedy stand in the terminal")

	first := out.Len()
	s.drawNothing(newView(), time.Now())
	assert.Len(t, out.String(), first, "the same is printed once")
	write("x\twarn\tRead failed\t{\"what\": \"driver\", \"reason\": \"not loaded; load it\"}\n")
	s.drawNothing(newView(), time.Now())
	assert.Contains(t, out.String()[first:], "  driver: not loaded; load it\n")
}

func TestReasonsAreBounded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	var b strings.Builder
	for i := range 20 {
		b.WriteString("warn\t{\"what\": \"w" + string(rune('a'+i)) + "\", \"reason\": \"r\"}\n")
	}
	require.NoError(t, os.WriteFile(log, []byte(b.String()), 0o600))
	assert.Equal(t, []string{"wq: r", "wr: r", "ws: r", "wt: r"}, reasons(log))
	assert.Empty(t, reasons(filepath.Join(t.TempDir(), "none")))
}
