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

// shellBlocks returns the commands of a page of docs, or of one section of it, in order.
func shellBlocks(t *testing.T, page, section string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", page))
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

// administrator starts an API server that has the namespace of the GPU operator, and returns a function that runs a script with access to
// it in the root directory. Helm is in its PATH.
func administrator(t *testing.T) func(script string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not in PATH: the documented commands were not followed")
	}
	program, err := filepath.Abs(helm(t))
	require.NoError(t, err)
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
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"),
			"KUBECONFIG="+kubeconfig, "HELM_CONFIG_HOME="+home, "HELM_CACHE_HOME="+home, "HELM_DATA_HOME="+home)
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

// A real API server takes the commands of the pages on kubectl and Helm, in their order. No pod runs there.
func TestKubernetesCommands(t *testing.T) {
	t.Parallel()
	t.Run("kubectl", func(t *testing.T) {
		run := administrator(t)
		out, err := run(`kubectl apply -f - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}'`)
		require.NoError(t, err, out)
		out, err = run(strings.ReplaceAll(shellBlocks(t, "operate/kubernetes.md", "Install with kubectl"), "NODE", "node-a"))
		require.NoError(t, err, out)
		assert.Contains(t, out, "rolebinding.rbac.authorization.k8s.io/gpureceiver-exec created")
		assert.Contains(t, out, "daemonset.apps/gpureceiver-agent restarted")
		assert.Contains(t, out, "node/node-a labeled")
	})
	t.Run("helm", func(t *testing.T) {
		run := administrator(t)
		out, err := run(shellBlocks(t, "operate/kubernetes.md", "Install with Helm"))
		require.NoError(t, err, out)
		assert.Contains(t, out, "Rollback was a success")
		assert.Contains(t, out, `release "gpureceiver" uninstalled`)
	})
	t.Run("upgrade", func(t *testing.T) {
		run := administrator(t)
		out, err := run(shellBlocks(t, "start/gateway.md", "Kubernetes") + shellBlocks(t, "operate/upgrade.md", "Kubernetes"))
		require.NoError(t, err, out)
		assert.Contains(t, out, "REVISION: 2")
		out, err = run("helm get values gpureceiver")
		require.NoError(t, err, out)
		assert.Contains(t, out, "clusterName: prod", "the values are kept")
	})
	t.Run("first steps of alerts", func(t *testing.T) {
		run := administrator(t)
		out, err := run(`kubectl apply -f - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-a"}}'`)
		require.NoError(t, err, out)
		commands := inlineCommands(t, "operate/alerts.md", "First steps", "kubectl")
		require.GreaterOrEqual(t, len(commands), 3)
		out, err = run(strings.ReplaceAll(strings.Join(commands, "\n"), "NODE", "node-a"))
		require.NoError(t, err, out)
		assert.Contains(t, out, "node/node-a drained")
		assert.Contains(t, out, "node/node-a already cordoned", "drain does it as well")
		assert.Contains(t, out, "node/node-a uncordoned")
	})
}

// inlineCommands returns the commands of a program that the sentences of a section have, in order.
func inlineCommands(t *testing.T, page, section, program string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, "docs", page))
	require.NoError(t, err)
	_, text, ok := strings.Cut(string(content), "\n## "+section+"\n")
	require.True(t, ok, "%s: %s", page, section)
	text, _, _ = strings.Cut(text, "\n## ")
	var commands []string
	for _, m := range regexp.MustCompile("`("+program+" [^`]+)`").FindAllStringSubmatch(text, -1) {
		commands = append(commands, m[1])
	}
	return commands
}
