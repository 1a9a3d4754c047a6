// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shippedRules writes the shipped rules, with a change, to a directory.
func shippedRules(t *testing.T, change func(rules []byte) []byte) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range []string{"recording.rules.yaml", "alerting.rules.yaml"} {
		rules, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", name))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), change(rules), 0o600))
	}
	return dir
}

// shippedOTLP starts a Prometheus with the shipped configuration for OTLP and the shipped rules, which are changed. It returns its address;
// empty if there is no such Prometheus.
func shippedOTLP(t *testing.T, change func(rules []byte) []byte) (address string) {
	t.Helper()
	if os.Getenv("PROMETHEUS_OTLP") == "" {
		t.Log("PROMETHEUS_OTLP does not name a Prometheus that takes OTLP: only the one that scrapes is checked")
		return ""
	}
	dir := shippedRules(t, change)
	text, err := os.ReadFile(filepath.Join(root(t), "deploy", "prometheus", "prometheus-otlp.yaml"))
	require.NoError(t, err)
	return otlpPrometheus(t, "global: {evaluation_interval: 1s}\n"+strings.NewReplacer("- recording.rules", "- "+dir+"/recording.rules",
		"- alerting.rules", "- "+dir+"/alerting.rules").Replace(string(text)))
}

// sending is the configuration with which a collector sends its data, and optionally its own metrics, to a Prometheus that takes OTLP.
func sending(address string, ownMetrics bool) string {
	if address == "" {
		return ""
	}
	service := "pipelines: {metrics: {exporters: [otlp_grpc, otlp_http/prometheus]}}"
	if ownMetrics {
		service += ", telemetry: {metrics: {readers: [{periodic: {interval: 1000, " +
			"exporter: {otlp: {protocol: http/protobuf, endpoint: 'http://" + address + "/api/v1/otlp/v1/metrics'}}}}]}}"
	}
	return "exporters: {otlp_http/prometheus: {endpoint: 'http://" + address + "/api/v1/otlp'}}\nservice: {" + service + "}\n"
}
