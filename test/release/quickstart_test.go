// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package release

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// commands are the commands of a page of docs/start, in order, without the commands of a cluster (test/deploy runs these).
func commands(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "start", page))
	require.NoError(t, err)
	machines, _, _ := strings.Cut(string(text), "\n## Kubernetes\n")
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(machines, -1) {
		script.WriteString(block[1])
	}
	require.NotEmpty(t, script.String())
	return script.String()
}

// follow runs a page's commands as written in the directory /root of a Debian that has the release's files, and returns what they print.
func follow(t *testing.T, r root, page string) string {
	t.Helper()
	for _, pattern := range []string{"*.deb", "*_linux_*.tar.gz"} {
		file := one(t, pattern)
		r.put(t, file, filepath.Join("/root", filepath.Base(file)))
	}
	script := "set -em\ncd /root\n" + commands(t, page)
	require.NoError(t, os.WriteFile(r.path("/root/script"), []byte(script), 0o600))
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := r.command(ctx, "ldconfig && export NVMLSIM_SCENARIO=/usr/share/demo.scenario && exec bash /root/script").CombinedOutput()
	require.NoError(t, err, "%s\n%s", script, out)
	t.Logf("%s took %s", page, time.Since(start).Round(time.Second))
	return string(out)
}

func TestQuickStartLaptop(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, requiredEnv(t, "RELEASE_LIBRARY"), "/usr/lib/libnvidia-ml.so.1")
	r.put(t, filepath.Join("..", "nvmlsim", "scenarios", "demo.scenario"), "/usr/share/demo.scenario")
	assert.Contains(t, follow(t, r, "laptop.md"), "NVIDIA H100")
}

// The gateway and a node are the same machine, under two names.
func TestQuickStartGateway(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	r.put(t, requiredEnv(t, "RELEASE_LIBRARY"), "/usr/lib/libnvidia-ml.so.1")
	r.put(t, filepath.Join("..", "nvmlsim", "scenarios", "demo.scenario"), "/usr/share/demo.scenario")
	require.NoError(t, os.WriteFile(r.path("/etc/hosts"), []byte("127.0.0.1 localhost gateway.example backend.example\n"), 0o600))
	printed := follow(t, r, "gateway.md")
	assert.Regexp(t, `(?m)^NODE +STATE .*\n\S+ .* 8 `, printed)

	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "start", "gateway.md"))
	require.NoError(t, err)
	alone := regexp.MustCompile("(?s)```yaml\n(# page-only.yaml.*?)```").FindStringSubmatch(string(page))
	require.NotNil(t, alone)
	require.NoError(t, os.WriteFile(r.path("/root/page-only.yaml"), []byte(alone[1]), 0o600))
	r.run(t, "cd /root/otelcol-gpu_*_linux_*/ && ./otelcol-gpu validate --feature-gates=+extension.healthcheck.useComponentStatus "+
		"--config config/gateway.yaml --config /root/page-only.yaml")
}

func TestQuickStartServer(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	follow(t, r, "server.md")
	_, err := os.Lstat(r.path("/etc/systemd/system/multi-user.target.wants/otelcol-gpu.service"))
	require.NoError(t, err, "the service starts with the machine")
	environment, err := os.ReadFile(r.path("/etc/otelcol-gpu/environment"))
	require.NoError(t, err)
	assert.Contains(t, string(environment), "\nOTLP_ENDPOINT=collector.example:4317\n")
}

func TestQuickStartAMD(t *testing.T) {
	t.Parallel()
	r := fresh(t)
	_, err := amdgpusim.Write(string(r), amdgpusim.Machines()["mi300x-spx"]())
	require.NoError(t, err)
	assert.Contains(t, follow(t, r, "laptop.md"), "MI300X")
}
