// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// The quick start of docs/operate/ledger.md, as it is written, without the installation of packages. sudo changes nothing, and psql is led to the
// test's server.
func TestQuickStartWithPostgreSQL(t *testing.T) {
	program, server := os.Getenv("OTELCOL_GPU_LEDGER"), servers["postgres"]
	if _, err := exec.LookPath("psql"); err != nil || program == "" || server == "" {
		t.Skip("needs a server, psql and the distribution: make test-ledger")
	}
	_, section, _ := strings.Cut(page(t), "\n## Quick start with PostgreSQL\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1)
	require.Len(t, blocks, 3)
	postgres, err := url.Parse(server)
	require.NoError(t, err)
	password, _ := postgres.User.Password()

	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, content := range map[string]string{
		"apt-get": "", "make": "", "sudo": `[ "$1" != -u ] || shift 2; exec "$@"`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+content), 0o700))
	}
	for link, target := range map[string]string{"config": filepath.Join(root, "config"), "bin": filepath.Join(root, "bin")} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	receiver, report := freeAddress(t), freeAddress(t)
	shell := func(script string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), "bash", "-euc", script)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "OTLP_LISTEN="+freeAddress(t), "OTELGPU_LEDGER=http://"+report,
			"PGHOST="+postgres.Hostname(), "PGPORT="+postgres.Port(), "PGUSER="+postgres.User.Username(), "PGPASSWORD="+password, "PGDATABASE=postgres")
		return cmd
	}
	admin := newLedger(t, newDatabase(t, server))
	t.Cleanup(func() { // before the ledger of the administrator ends
		for _, statement := range []string{"DROP DATABASE IF EXISTS gpu_ledger WITH (FORCE)", "DROP ROLE IF EXISTS gpu_ledger"} {
			_, err := admin.db.ExecContext(context.Background(), statement)
			assert.NoError(t, err)
		}
	})
	output, err := shell(strings.ReplaceAll(blocks[0][1], "@127.0.0.1/", "@"+postgres.Host+"/")).CombinedOutput()
	require.NoError(t, err, string(output))
	info, err := os.Stat(filepath.Join(dir, "ledger-url"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())
	output, err = shell("psql '" + strings.Replace(strings.ReplaceAll(server, postgres.User.String(), "gpu_ledger:wrong"), "/postgres?", "/gpu_ledger?", 1) + "' -c ''").CombinedOutput()
	require.Error(t, err)
	assert.Contains(t, string(output), "password authentication failed", "the URL of the next step has the password")

	gateway := shell("exec env " + strings.TrimSpace(strings.ReplaceAll(blocks[1][1], "dist/ledger/otelcol-gpu-ledger", program)) +
		" --config 'yaml:receivers::otlp::protocols::http::endpoint: " + receiver + "' --config 'yaml:exporters::gpu_ledger::report::endpoint: " + report + "'" +
		" --config 'yaml:service::telemetry::metrics::level: none'")
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	gateway.Stdout, gateway.Stderr = log, log
	require.NoError(t, gateway.Start())
	t.Cleanup(func() {
		_ = gateway.Process.Kill()
		_ = gateway.Wait()
		_ = log.Close()
	})
	start := time.Now().Unix() - 3600
	gpu := newLife("GPU-1")
	gpu.pods[0]["train-0"] = &part{since: start}
	sender := &collector{t: t, url: "http://" + receiver}
	sender.awaitListener()
	for now := start; now <= start+3600; now += 60 {
		body, err := pmetricotlp.NewExportRequestFromMetrics(gpu.metrics(now)).MarshalProto()
		require.NoError(t, err)
		sender.send("/v1/metrics", body)
	}
	assert.Eventually(t, func() bool {
		output, err = shell(blocks[2][1]).CombinedOutput()
		return err == nil && regexp.MustCompile(`(?m)^team .*\b1\.0`).Match(output)
	}, time.Minute, 200*time.Millisecond, "the report")
	t.Log(string(output))
	if t.Failed() {
		text, _ := os.ReadFile(log.Name())
		t.Log(string(text))
	}
	var powers bool
	require.NoError(t, admin.db.QueryRow("SELECT rolsuper OR rolcreatedb OR rolcreaterole FROM pg_roles WHERE rolname = 'gpu_ledger'").Scan(&powers))
	assert.False(t, powers)
}
