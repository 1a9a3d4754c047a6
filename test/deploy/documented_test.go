// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

var documentedOverlay = regexp.MustCompile("(?s)```yaml\n([^`]*kind: Kustomization\n[^`]*)```")

// The overlays of docs/operate/kubernetes.md have the documented effects.
func TestDocumentedOverlays(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "kubernetes.md"))
	require.NoError(t, err)
	var overlays []string
	for _, m := range documentedOverlay.FindAllStringSubmatch(string(text), -1) {
		overlays = append(overlays, m[1])
	}
	require.Len(t, overlays, 5)
	base, err := filepath.Abs(filepath.Join("..", "..", "deploy"))
	require.NoError(t, err)
	base, err = filepath.EvalSymlinks(base)
	require.NoError(t, err)
	built := func(overlay string) []object {
		directory, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		target, err := filepath.Rel(directory, base)
		require.NoError(t, err)
		require.Contains(t, overlay, "../deploy/")
		overlay = strings.ReplaceAll(overlay, "../deploy/", target+"/")
		require.NoError(t, os.WriteFile(filepath.Join(directory, "kustomization.yaml"), []byte(overlay), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(directory, "mine.yaml"), []byte(documentedBlock(t, "kubernetes.md", "# mine.yaml\n")), 0o600))
		return build(t, directory)
	}

	c := only(t, built(overlays[0])).Containers[0]
	assert.Equal(t, "registry.example/otelcol-gpu:0.1.0", c.Image)
	assert.Contains(t, c.Env, corev1.EnvVar{Name: "K8S_CLUSTER_NAME", Value: "prod"})
	assert.Contains(t, c.Env, corev1.EnvVar{Name: "OTLP_ENDPOINT", Value: "gateway.example:4317"})
	names := map[string]int{}
	for _, e := range c.Env {
		names[e.Name]++
	}
	assert.Equal(t, 1, names["K8S_CLUSTER_NAME"], "replaced, not added")
	assert.Contains(t, names, "NVIDIA_VISIBLE_DEVICES", "what the base has stays")

	configured := built(overlays[1])
	configsAreMounted(t, configured, "exec.yaml", "mine.yaml")
	assert.Contains(t, mounted(configured, only(t, configured), "/etc/mine")["mine.yaml"], "max_concurrent: 32")

	renamed := built(overlays[2])
	require.NotEmpty(t, renamed)
	for _, o := range renamed {
		assert.True(t, strings.HasSuffix(o.GetName(), "-amd"), o.GetName())
	}

	configsAreMounted(t, built(overlays[3]), "exec.yaml", "telemetry-otlp.yaml")

	rights := built(overlays[4])
	require.Len(t, rights, 2)
	for _, o := range rights {
		assert.Equal(t, "nvidia-gpu-operator", o.GetNamespace())
		if binding, ok := o.typed.(*rbacv1.RoleBinding); ok {
			assert.Equal(t, "gpureceiver-exec", binding.Subjects[0].Namespace, "the account stays where it is")
		}
	}
}

// documentedBlock returns the YAML of a page of docs/operate that starts with a text.
func documentedBlock(t *testing.T, page, begins string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", page))
	require.NoError(t, err)
	match := regexp.MustCompile("(?s)```yaml\n(" + regexp.QuoteMeta(begins) + ".*?)```").FindStringSubmatch(string(text))
	require.NotNil(t, match, "%s: %s", page, begins)
	return match[1]
}

var documentedValues = regexp.MustCompile("(?s)```yaml\n(# values\\.yaml[^`]*)```")

// The documented values are taken by the chart, and name Secrets in place of having any in a ConfigMap.
func TestChartDocumentedValues(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "kubernetes.md"))
	require.NoError(t, err)
	match := documentedValues.FindAllStringSubmatch(string(text), -1)
	require.Len(t, match, 2)
	backend, clusters := rendered(t, match[0][1]), rendered(t, match[1][1])
	for _, o := range backend {
		pod := o.pod()
		if pod == nil {
			continue
		}
		gateway := o.GetName() == "gpureceiver-gateway"
		endpoint := map[bool]string{true: "backend.example:4317", false: "gpureceiver-gateway.gpureceiver-gateway.svc:4317"}[gateway]
		assert.Contains(t, pod.Containers[0].Env, corev1.EnvVar{Name: "OTLP_ENDPOINT", Value: endpoint})
		headers := slices.ContainsFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool {
			return e.Name == "OTLP_HEADERS" && e.ValueFrom.SecretKeyRef.Name == "otlp-headers"
		})
		assert.Equal(t, gateway, headers, o.GetName())
	}
	options := mounted(clusters, only(t, clusters), "/etc/gpureceiver")["options.yaml"]
	assert.Contains(t, options, "token_file: /etc/gpureceiver-clusters/0/token")
	assert.Contains(t, options, "ca_file: /etc/gpureceiver-clusters/0/ca.crt")
	assert.Contains(t, options, "tool: amd_smi")
}

var documentedTargets = regexp.MustCompile("(?s)```yaml\n(targets:\n[^`]*)```")

// The chart takes the documented targets, and gives them to the scraper.
func TestDocumentedTargets(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "kubernetes.md"))
	require.NoError(t, err)
	match := documentedTargets.FindAllStringSubmatch(string(text), -1)
	require.Len(t, match, 3)
	for _, block := range match {
		values := "agent: {enabled: false}\nexec:\n  enabled: true\n  " + strings.ReplaceAll(strings.TrimSpace(block[1]), "\n", "\n  ") + "\n"
		objects := rendered(t, values)
		options := mounted(objects, only(t, objects), "/etc/gpureceiver")["options.yaml"]
		label := regexp.MustCompile(`label_selector: ([a-z-]+=[a-z-]+)`).FindStringSubmatch(block[1])
		require.NotNil(t, label, block[1])
		assert.Contains(t, options, "label_selector: "+label[1])
	}
}

// The documented objects of Kubernetes are written as its types have them.
func TestDocumentedObjects(t *testing.T) {
	t.Parallel()
	var class nodev1.RuntimeClass
	require.NoError(t, yaml.UnmarshalStrict([]byte(documentedBlock(t, "kubernetes.md", "apiVersion: node.k8s.io/v1")), &class))
	assert.Equal(t, "nvidia", class.Name)
	assert.Equal(t, "nvidia", class.Handler)
	var role rbacv1.ClusterRole
	require.NoError(t, yaml.UnmarshalStrict([]byte(documentedBlock(t, "workloads.md", "rules:")), &role))
	require.Len(t, role.Rules, 1)
	assert.Equal(t, []string{"rayclusters"}, role.Rules[0].Resources)
}
