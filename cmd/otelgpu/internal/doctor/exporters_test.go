// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"
)

// Remote write has its endpoint in a section of its own, or beside the others as it had before.
func TestExporterEndpoints(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, listener.Close()) })
	url := "http://" + listener.Addr().String() + "/api/v1/write"
	for name, settings := range map[string]map[string]any{
		"prometheus_remote_write": {"http": map[string]any{"endpoint": url}},
		"prometheusremotewrite":   {"endpoint": url},
		"otlp_http":               {"endpoint": url},
	} {
		sections := readExporters(t.Context(), confmap.NewFromStringMap(map[string]any{
			"exporters": map[string]any{name: settings},
			"service":   map[string]any{"pipelines": map[string]any{"metrics": map[string]any{"exporters": []any{name}}}},
		}))
		require.Len(t, sections, 1, name)
		require.Len(t, sections[0].Checks, 1, name)
		assert.Equal(t, OK, sections[0].Checks[0].State, name)
		assert.Equal(t, name, sections[0].Checks[0].Subject)
	}
}

func TestDialAddress(t *testing.T) {
	for endpoint, want := range map[string][2]string{
		"host":                                  {"tcp", "host:4317"},
		"host:1":                                {"tcp", "host:1"},
		"[::1]:1":                               {"tcp", "[::1]:1"},
		"http://host/v1":                        {"tcp", "host:80"},
		"https://user:s3cret@host":              {"tcp", "host:443"},
		"dns:///host:1":                         {"tcp", "host:1"},
		"passthrough:///host":                   {"tcp", "host:4317"},
		"unix:///run/otlp.sock":                 {"unix", "/run/otlp.sock"},
		"unix:otlp.sock":                        {"unix", "otlp.sock"},
		"https://user:s3c ret@host, and s3cret": {},
		"":                                      {},
	} {
		network, address, err := dialAddress(endpoint, "4317")
		assert.Equal(t, want, [2]string{network, address}, endpoint)
		assert.Equal(t, want[0] == "", err != nil)
		if err != nil {
			assert.NotContains(t, err.Error(), "s3c")
		}
	}
}
