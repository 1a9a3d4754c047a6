// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The commands of the quick starts of Kubernetes do on a real API server what the pages say. No pod runs there.
func TestQuickStarts(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not in PATH: the quick starts of Kubernetes were not followed")
	}
	program, err := filepath.Abs(helm(t))
	require.NoError(t, err)
	for _, page := range []struct {
		name, section, prints string
		endpoints             map[string]string // of objects, by kubectl's arguments
	}{
		{"kubernetes-agents.md", "", "gpureceiver-agent", map[string]string{
			"-n gpureceiver-agent daemonset/gpureceiver-agent":      "gateway.example:4317",
			"-n gpureceiver-cluster deployment/gpureceiver-cluster": "gateway.example:4317",
		}},
		{"kubernetes-outside.md", "", "yes\n", map[string]string{"-n gpureceiver-exec deployment/gpureceiver-exec": "gateway.example:4317"}},
		{"gateway.md", "Kubernetes", "gpureceiver-gateway", map[string]string{
			"-n gpureceiver-agent daemonset/gpureceiver-agent":      "gpureceiver-gateway.gpureceiver-gateway.svc:4317",
			"-n gpureceiver-gateway deployment/gpureceiver-gateway": "backend.example:4317",
		}},
	} {
		t.Run(page.name, func(t *testing.T) {
			run := administrator(t)
			began := time.Now()
			out, err := run("PATH=" + filepath.Dir(program) + ":$PATH\n" + quickStart(t, page.name, page.section))
			require.NoError(t, err, out)
			t.Logf("%s took %s", page.name, time.Since(began).Round(time.Second))
			assert.Contains(t, out, page.prints)
			for name, endpoint := range page.endpoints {
				object, err := run("kubectl get -o yaml " + name)
				require.NoError(t, err, object)
				assert.Contains(t, object, "image: registry.example/otelcol-gpu:0.1.0", name)
				assert.Contains(t, object, "value: "+endpoint, name)
				if !strings.Contains(name, "gateway") { // it passes on what agents call their cluster
					assert.Contains(t, object, "value: prod", name)
				}
			}
		})
	}
}

// administrator starts an API server that has the namespace of the GPU operator, and returns what runs a script with access to it in the root folder.
func administrator(t *testing.T) func(script string) (string, error) {
	t.Helper()
	config := realAPIServer(t)
	home := t.TempDir()
	kubeconfig := filepath.Join(home, "kubeconfig")
	require.NoError(t, os.WriteFile(kubeconfig, []byte(strings.NewReplacer("SERVER", config.Host, "TOKEN", config.BearerToken).Replace(`
apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: test, user: admin}}]
clusters: [{name: test, cluster: {server: 'SERVER', insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: TOKEN}}]
`)), 0o600))
	run := func(script string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "bash", "-ec", script)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	require.Eventually(t, func() bool {
		_, err := run("kubectl get --raw /readyz")
		return err == nil
	}, 5*time.Minute, 500*time.Millisecond)
	out, err := run("kubectl create namespace gpu-operator") // as the GPU operator does
	require.NoError(t, err, out)
	return run
}

// quickStart returns the commands of a page of docs/start, or of one section of it, in order.
func quickStart(t *testing.T, page, section string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", "start", page))
	require.NoError(t, err)
	text := string(content)
	if section != "" {
		var found bool
		_, text, found = strings.Cut(text, "\n## "+section+"\n")
		require.True(t, found, "%s: %s", page, section)
		text, _, _ = strings.Cut(text, "\n## ")
	}
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		script.WriteString(block[1] + "\n")
	}
	require.NotEmpty(t, script.String(), page)
	return script.String()
}
