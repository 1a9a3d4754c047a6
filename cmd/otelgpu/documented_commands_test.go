// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var commandsPage = filepath.Join("..", "..", "docs", "reference", "otelgpu.md")

// documentedCommand matches a command of a page, and what it prints.
func documentedCommand(command string) *regexp.Regexp {
	return regexp.MustCompile("(?s)(```sh\notelgpu (" + command + " [^\n]*)\n```\n\n```text\n)(.*?)(```\n)")
}

// The examples of otelgpu get in docs/reference/otelgpu.md print what the documentation says, of the sample fleet. With -update it is
// written there.
func TestDocumentedCommands(t *testing.T) {
	t.Setenv(envServer, sampleServer(t))
	assert.GreaterOrEqual(t, comparePrinted(t, commandsPage, "get", func(args []string) string {
		got := otelgpu(t, args...)
		return got.out + got.err
	}), 3)
}

var doctorPage = filepath.Join("..", "..", "docs", "troubleshoot", "doctor.md")

// The commands of docs/troubleshoot/ are ones that otelgpu doctor obeys: it reads this machine, whatever it finds there.
func TestDocumentedDoctor(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte(strings.TrimPrefix(gpuConfig("scrapers: {nvml: }"), "yaml:")), 0o600))
	commands := 0
	for _, page := range []string{doctorPage, filepath.Join(filepath.Dir(doctorPage), "README.md")} {
		docs, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, command := range regexp.MustCompile(`(?m)^ *otelgpu doctor( [^#\n]*)?`).FindAllStringSubmatch(string(docs), -1) {
			commands++
			cmd := doctorCommand(t, strings.Fields(strings.ReplaceAll(command[1], "/etc/otelcol-gpu/agent.yaml", config))...)
			cmd.Dir = t.TempDir()
			got := finish(t, cmd)
			assert.Empty(t, got.err, command[0])
			assert.NotEmpty(t, got.out, command[0])
			if strings.Contains(command[1], "report.tar.gz") {
				assert.FileExists(t, filepath.Join(cmd.Dir, "report.tar.gz"))
			}
		}
	}
	assert.GreaterOrEqual(t, commands, 7)
}

// The report in docs/troubleshoot/doctor.md is one that otelgpu doctor printed, and so are the lines of another one.
func TestDocumentedReport(t *testing.T) {
	docs, err := os.ReadFile(doctorPage)
	require.NoError(t, err)
	reports := regexp.MustCompile("(?s)```text\n(.*?)```\n").FindAllStringSubmatch(string(docs), -1)
	require.Len(t, reports, 2)
	printed, err := os.ReadFile(filepath.Join("testdata", "doctor", "nvidia.txt"))
	require.NoError(t, err)
	assert.Equal(t, string(printed), reports[0][1])
	printed, err = os.ReadFile(filepath.Join("testdata", "doctor", "nvidia_part.txt"))
	require.NoError(t, err)
	for line := range strings.Lines(reports[1][1]) {
		assert.Contains(t, string(printed), "\n"+line)
	}
}

// comparePrinted compares what a page says that commands print with what they print, and returns how many there are. With -update it is
// written to the page.
func comparePrinted(t *testing.T, page, command string, run func(args []string) string) int {
	t.Helper()
	docs, err := os.ReadFile(page)
	require.NoError(t, err)
	examples := 0
	printed := documentedCommand(command).ReplaceAllStringFunc(string(docs), func(example string) string {
		examples++
		parts := documentedCommand(command).FindStringSubmatch(example)
		return parts[1] + run(strings.Fields(parts[2])) + parts[4]
	})
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(printed), 0o600))
		return examples
	}
	assert.Equal(t, string(docs), printed)
	return examples
}
