// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The API server of a cluster was never there: the cluster's state is sent with its name, and the health check fails after
// recovery_duration. With the shipped rules it is one alert, with the reason.
func TestClusterWithoutAPIServer(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(token, []byte("secret"), 0o600))
	access := fmt.Sprintf("endpoint: 'https://127.0.0.1:1', token_file: %q", token)
	for scraper, settings := range map[string]string{
		"kubernetes_exec":    "{clusters: [{name: gone, " + access + "}]}",
		"kubernetes_cluster": "{" + access + "}",
	} {
		t.Run(scraper, func(t *testing.T) {
			t.Parallel()
			since := time.Now()
			n := start(t, spec{nvml: "KEY", replace: map[string]string{
				"nvml: KEY": scraper + ": " + settings, "{node_name: node-a}": "{cluster_name: gone}",
			}})
			points := n.next("the cluster's state", func(points harness.Points) bool {
				return len(points.Select("hw.gpu.source.failure", "k8s.cluster.name", "gone", "error.type", "api_unreachable")) == 1
			})
			readable, ok := points.Value("hw.gpu.source.readable", "hw.gpu.source.name", scraper)
			assert.True(t, ok)
			assert.Zero(t, readable)
			requireUnhealthy(t, n, since, "connection refused")
			if _, err := exec.LookPath("prometheus"); err == nil {
				address := scrapingPrometheus(t, "global: {evaluation_interval: 1s}\nrule_files: ["+shippedRules(t, shortDurations)+"/*.rules.yaml]", n.page)
				becomes(t, address, `count(ALERTS{alertname="GPUClusterUnreadable", alertstate="firing", k8s_cluster_name="gone", error_type="api_unreachable"})`, 1)
				becomes(t, address, "count(ALERTS)", 1) // one cause, one alert
			}
			n.interrupt()
		})
	}
}
