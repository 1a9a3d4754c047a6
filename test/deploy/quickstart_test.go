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
	config := realAPIServer(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
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
		cmd.Dir, cmd.Env = root, append(os.Environ(), "KUBECONFIG="+kubeconfig)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	require.Eventually(t, func() bool {
		_, err := run("kubectl create namespace gpu-operator") // as the GPU operator does
		return err == nil
	}, 5*time.Minute, 500*time.Millisecond)

	for _, page := range []struct{ name, object, prints string }{
		{"kubernetes-agents.md", "-n gpureceiver-agent daemonset/gpureceiver-agent", "gpureceiver-agent"},
		{"kubernetes-outside.md", "-n gpureceiver-exec deployment/gpureceiver-exec", "yes\n"},
	} {
		text, err := os.ReadFile(filepath.Join(root, "docs", "start", page.name))
		require.NoError(t, err)
		var script strings.Builder
		for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			script.WriteString(block[1])
		}
		began := time.Now()
		out, err := run(script.String())
		require.NoError(t, err, "%s: %s", page.name, out)
		t.Logf("%s took %s", page.name, time.Since(began).Round(time.Second))
		assert.Contains(t, out, page.prints)
		object, err := run("kubectl get -o yaml " + page.object)
		require.NoError(t, err, object)
		assert.Contains(t, object, "image: registry.example/otelcol-gpu:0.1.0")
		assert.Contains(t, object, "value: gateway.example:4317")
		assert.Contains(t, object, "value: prod")
	}
}
