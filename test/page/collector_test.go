// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package page

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// nodeName is the name of the node on which a collector runs.
const nodeName = "node-a"

const configuration = `
receivers:
  gpu:
    collection_interval: 5s # a busy machine reads within it
    initial_delay: 0s
    timeout: 5s
    attribution: {node_name: NODE}
    scrapers: SCRAPERS
exporters:
  gpu_view: {endpoint: ADDRESS}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    metrics: {receivers: [gpu], exporters: [gpu_view]}
    logs: {receivers: [gpu], exporters: [gpu_view]}
`

// openCollector starts the built otelcol-gpu with some scrapers, in YAML's flow style, and opens its page. The test's cleanup ends it.
func openCollector(t *testing.T, scrapers string, env ...string) *tab {
	t.Helper()
	if browser == nil {
		t.Skip("chromium is missing")
	}
	binary := os.Getenv("OTELCOL_GPU")
	if binary == "" {
		t.Skip("no collector to test: OTELCOL_GPU does not name the built otelcol-gpu; run make test-page")
	}
	require.True(t, filepath.IsAbs(binary), "OTELCOL_GPU is an absolute path: %s", binary)
	address, dir := freeAddress(t), t.TempDir()
	config := filepath.Join(dir, "collector.yaml")
	text := strings.NewReplacer("NODE", nodeName, "SCRAPERS", scrapers, "ADDRESS", address).Replace(configuration)
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	collector := exec.Command(binary, "--config", config)
	collector.Env = append(os.Environ(), env...)
	collector.Stdout, collector.Stderr = log, log
	collector.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	require.NoError(t, collector.Start())
	t.Cleanup(func() {
		assert.NoError(t, collector.Process.Signal(os.Interrupt))
		late := time.AfterFunc(patience, func() { _ = collector.Process.Kill() })
		assert.NoError(t, collector.Wait(), "an interrupt ends the collector, although its page was open")
		late.Stop()
		_ = log.Close()
		if said, err := os.ReadFile(log.Name()); t.Failed() && err == nil {
			t.Logf("%s", said)
		}
	})
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
			break
		}
		require.True(t, time.Now().Before(end), "the collector does not listen: %v", err)
	}
	return openAt(t, "http://"+address, "/")
}

// freeAddress returns an unused address of this machine. For a minute the kernel assigns its port only to a process that requests it by
// number, because a connection that the server's side has closed keeps it (TIME_WAIT).
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	client, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer func() { _ = client.Close() }()
	server, err := l.Accept()
	require.NoError(t, err)
	require.NoError(t, server.Close())
	_, _ = client.Read(make([]byte, 1)) // until it is closed
	return l.Addr().String()
}
