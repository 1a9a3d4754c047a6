// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of docs/operate/backends.md that start the collector are correct as written: `otelcol-gpu validate` accepts their arguments
// and variables. The commands of docs/start/prometheus.md that configure a machine and its Prometheus are run, with a directory instead of /etc.
func TestDocumentedBackends(t *testing.T) {
	t.Parallel()
	collector := binary(t)
	promtool := filepath.Dir(tool(t, "promtool"))
	// What changes this machine or runs for ever is left out.
	const functions = "set -e\notelcol-gpu() { \"$COLLECTOR\" validate \"$@\"; }\nsudo() { case $1 in apt-get | systemctl) ;; *) \"$@\" ;; esac; }\n" +
		"prometheus() { test -e deploy/prometheus/prometheus-otlp.yaml; }\ncurl() { :; }\n"
	follow := func(commands, etc string) string {
		t.Helper()
		// A shell keeps the variables before a function's name to that call, as before a program's.
		script := exec.CommandContext(t.Context(), "bash", "-c", functions+strings.ReplaceAll(commands, "/etc/", etc+"/"))
		script.Dir = root(t)
		script.Env = append(os.Environ(), "COLLECTOR="+collector, "PATH="+promtool+":"+os.Getenv("PATH"))
		output, err := script.CombinedOutput()
		require.NoError(t, err, "%s\n%s", commands, output)
		return string(output)
	}
	for _, block := range shellBlocks(t, "operate", "backends.md") {
		follow(block, t.TempDir())
	}

	etc := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(etc, "prometheus"), 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(etc, "otelcol-gpu"), 0o700))
	blocks := shellBlocks(t, "start", "prometheus.md")
	require.Len(t, blocks, 4)
	output := follow("dpkg() { :; }\nsystemctl() { :; }\n"+strings.Join(blocks[:3], "\n"), etc) // the last one is for Kubernetes
	assert.Contains(t, output, "SUCCESS")
	options, err := os.ReadFile(filepath.Join(etc, "otelcol-gpu", "environment"))
	require.NoError(t, err)
	assert.Equal(t, "OTELCOL_OPTIONS=--config=/usr/share/otelcol-gpu/config/agent-prometheus.yaml\n", string(options))
}

// shellBlocks returns the commands of a page of docs.
func shellBlocks(t *testing.T, elem ...string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{root(t), "docs"}, elem...)...))
	require.NoError(t, err)
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		blocks = append(blocks, block[1])
	}
	require.NotEmpty(t, blocks)
	return blocks
}

// The file of docs/operate/backends.md that names two exporters is valid after the overlay that contains the second one.
func TestDocumentedTwoBackends(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "backends.md"))
	require.NoError(t, err)
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.Len(t, files, 1)
	file := filepath.Join(t.TempDir(), "two.yaml")
	require.NoError(t, os.WriteFile(file, []byte(files[0][1]), 0o600))
	config := filepath.Join(root(t), "config")
	validate := exec.CommandContext(t.Context(), binary(t), "validate", "--config", filepath.Join(config, "agent.yaml"),
		"--config", filepath.Join(config, "overlays", "prometheus-remote-write.yaml"), "--config", file)
	validate.Env = append(os.Environ(), "REMOTE_WRITE_URL=http://127.0.0.1:9090/api/v1/write")
	output, err := validate.CombinedOutput()
	require.NoError(t, err, string(output))
}
