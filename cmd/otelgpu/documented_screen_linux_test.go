// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/client"
)

var clock = regexp.MustCompile(`[0-9]{2}:[0-9]{2}:[0-9]{2}`)

// The screen of otelgpu top in docs/reference/otelgpu.md shows the sample fleet, except for the server's address and the time. With -update
// it is written there.
func TestDocumentedScreen(t *testing.T) {
	server := sampleServer(t)
	assert.Equal(t, 1, comparePrinted(t, commandsPage, "top", func(args []string) string {
		term := startTerminal(t, 140, 14, nil, append(args, "--server", server)...)
		screen := term.shows("live", "nvidia3", "processes", "q quit")
		term.press("q")
		assert.Zero(t, term.end())
		lines := strings.Split(strings.ReplaceAll(screen, server, client.DefaultServer), "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.TrimRight(clock.ReplaceAllString(strings.Join(lines, "\n"), "12:00:00"), "\n") + "\n"
	}))
}
