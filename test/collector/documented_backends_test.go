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
// and variables. The commands that configure Prometheus on a machine are also run, with a directory instead of /etc/prometheus.
func TestDocumentedBackends(t *testing.T) {
	t.Parallel()
	collector := binary(t)
	promtool := filepath.Dir(tool(t, "promtool"))
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "operate", "backends.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, blocks)
	// What changes this machine or runs for ever is left out.
	const functions = "set -e\notelcol-gpu() { \"$COLLECTOR\" validate \"$@\"; }\nsudo() { case $1 in apt-get | systemctl) ;; *) \"$@\" ;; esac; }\n" +
		"prometheus() { test -e deploy/prometheus/prometheus-otlp.yaml; }\ncurl() { :; }\n"
	for _, block := range blocks {
		etc := t.TempDir()
		// A shell keeps the variables before a function's name to that call, as before a program's.
		script := exec.CommandContext(t.Context(), "bash", "-c", functions+strings.ReplaceAll(block[1], "/etc/prometheus", etc))
		script.Dir = root(t)
		script.Env = append(os.Environ(), "COLLECTOR="+collector, "PATH="+promtool+":"+os.Getenv("PATH"))
		output, err := script.CombinedOutput()
		require.NoError(t, err, "%s\n%s", block[1], output)
		if strings.Contains(block[1], "promtool") {
			assert.Contains(t, string(output), "SUCCESS")
			assert.FileExists(t, filepath.Join(etc, "alerting.rules.yaml"))
		}
	}
}

// The file of docs/operate/backends.md that names two exporters is valid after the part that has the second one.
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
		"--config", filepath.Join(config, "parts", "prometheus-remote-write.yaml"), "--config", file)
	validate.Env = append(os.Environ(), "REMOTE_WRITE_URL=http://127.0.0.1:9090/api/v1/write")
	output, err := validate.CombinedOutput()
	require.NoError(t, err, string(output))
}
