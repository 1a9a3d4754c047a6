// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The command of docs/start/prometheus.md installs collectors that send nothing, what Prometheus scrapes, and the rules.
func TestDocumentedPrometheusOnly(t *testing.T) {
	t.Parallel()
	command := strings.Replace(shellBlocks(t, "start/prometheus.md", "Kubernetes"), "helm install", "helm template --kube-version "+kubernetesVersion, 1)
	program, err := filepath.Abs(helm(t))
	require.NoError(t, err)
	script := exec.CommandContext(t.Context(), "bash", "-ec", command)
	script.Dir, script.Env = root, append(os.Environ(), "PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	out, err := script.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.NotContains(t, string(out), "otlp")
	assert.NotContains(t, string(out), "OTLP")
	for _, want := range []string{"kind: PodMonitor\n", "kind: PrometheusRule\n", "- port: metrics\n", "- port: telemetry\n"} {
		assert.Contains(t, string(out), want)
	}
}

// The shipped Prometheus finds the pages of all shapes, GPUs' and own telemetry: their headless Services are the names that it resolves, and no
// others.
func TestChartPrometheusFindsEveryCollector(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "deploy", "prometheus", "prometheus.yaml"))
	require.NoError(t, err)
	var config struct {
		Jobs []struct {
			Services []struct {
				Names []string
				Port  int32
			} `json:"dns_sd_configs"`
		} `json:"scrape_configs"`
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	var scraped, headless []string
	for _, job := range config.Jobs {
		for _, service := range job.Services {
			for _, name := range service.Names {
				scraped = append(scraped, fmt.Sprintf("%s:%d", name, service.Port))
			}
		}
	}
	for _, o := range rendered(t, "cluster: {enabled: true}\nexec: {enabled: true}\ngateway: {enabled: true}") {
		if service, ok := o.typed.(*corev1.Service); ok && service.Spec.ClusterIP == corev1.ClusterIPNone {
			for _, port := range service.Spec.Ports {
				headless = append(headless, fmt.Sprintf("%s.%s.svc:%d", service.Name, service.Namespace, port.Port))
			}
		}
	}
	assert.Len(t, scraped, 6)
	assert.ElementsMatch(t, headless, scraped)
}
