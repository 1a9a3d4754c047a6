// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// The command of docs/start/prometheus.md installs on a real API server collectors that send nothing, what Prometheus scrapes, and the rules. Without
// the Prometheus operator it ends with the message that the page names, and leaves nothing.
func TestDocumentedPrometheusOnly(t *testing.T) {
	t.Parallel()
	const message = `no matches for kind "PodMonitor"`
	page, err := os.ReadFile(filepath.Join(root, "docs", "start", "prometheus.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), message)
	command := shellBlocks(t, "start/prometheus.md", "Kubernetes")
	definitions := filepath.Join(module(t, t.TempDir(), prometheusOperator), "example", "prometheus-operator-crd", "monitoring.coreos.com_")
	run := administrator(t)
	out, err := run(command)
	require.Error(t, err, out)
	assert.Contains(t, out, message)
	out, err = run("kubectl create -f " + definitions + "podmonitors.yaml -f " + definitions + "prometheusrules.yaml\n" +
		"kubectl wait --for=condition=Established --timeout=3m crd --all\n" + command + "helm get manifest gpureceiver\nkubectl get podmonitors,prometheusrules -A -o name")
	require.NoError(t, err, out)
	assert.NotContains(t, out, "otlp")
	assert.NotContains(t, out, "OTLP")
	for _, want := range []string{
		"- port: metrics\n", "- port: telemetry\n", "podmonitor.monitoring.coreos.com/gpureceiver-agent\n",
		"podmonitor.monitoring.coreos.com/gpureceiver-cluster\n", "prometheusrule.monitoring.coreos.com/gpureceiver-rules\n",
	} {
		assert.Contains(t, out, want)
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
