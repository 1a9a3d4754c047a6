// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/confmap"

	"github.com/otelgpu/gpureceiver/test/reference"
)

func load(t *testing.T, settings map[string]any) (*Config, error) {
	t.Helper()
	cfg := createDefaultConfig().(*Config)
	if err := confmap.NewFromStringMap(settings).Unmarshal(cfg); err != nil {
		return nil, err
	}
	return cfg, confmap.Validate(cfg)
}

func TestDefaults(t *testing.T) {
	cfg, err := load(t, nil)
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1:9410", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, 3*time.Second, cfg.Server.ReadHeaderTimeout)
	assert.Equal(t, 30*time.Second, cfg.Server.WriteTimeout)
	assert.Equal(t, 15*time.Second, cfg.Server.IdleTimeout) //nolint:staticcheck // confighttp reads the section keepalive into it
	assert.False(t, cfg.Server.CORS.HasValue())
	assert.Empty(t, cfg.warnings(true))
	assert.Len(t, cfg.warnings(false), 1)
}

func TestConfiguration(t *testing.T) {
	cfg, err := load(t, map[string]any{
		"endpoint": "0.0.0.0:9411", "history": "5m", "history_points": 6, "gone_after": "1h", "max_nodes": 1, "max_gpus": 2, "max_processes": 3, "max_connections": 4,
		"max_requests": 5, "allowed_hosts": []any{"gpus.example", "10.0.0.1"}, "write_timeout": "10s",
		"keepalive": map[string]any{"idle_timeout": "20s"},
		"auth":      map[string]any{"authenticator": "basicauth"}, "tls": map[string]any{"cert_file": "/c", "key_file": "/k"},
		"cors": map[string]any{"allowed_origins": []any{"https://dashboard.example"}},
	})
	require.NoError(t, err)
	assert.Equal(t, "0.0.0.0:9411", cfg.Server.NetAddr.Endpoint)
	assert.Equal(t, []time.Duration{5 * time.Minute, time.Hour, 10 * time.Second}, []time.Duration{cfg.History, cfg.GoneAfter, cfg.Server.WriteTimeout})
	assert.Equal(t, []int{6, 1, 2, 3, 4, 5}, []int{cfg.HistoryPoints, cfg.MaxNodes, cfg.MaxGPUs, cfg.MaxProcesses, cfg.MaxConnections, cfg.MaxRequests})
	assert.Equal(t, []string{"gpus.example", "10.0.0.1"}, cfg.AllowedHosts)
	assert.Equal(t, "basicauth", cfg.Server.Auth.Get().Config.AuthenticatorID.String())
	assert.Empty(t, cfg.warnings(false))
}

func TestGrafanaURLs(t *testing.T) {
	for _, address := range []string{"", "https://g.example/d/gpureceiver-gpu?var-node={node}&var-gpu={name}&from={from}&to={to}", "http://g:3000/{cluster}", "/grafana/d?uuid={gpu}", "d"} {
		cfg, err := load(t, map[string]any{"grafana_url": address})
		require.NoError(t, err, address)
		assert.Equal(t, address, cfg.GrafanaURL)
	}
}

// A section can be switched off, and headers can be a list or a section.
func TestSections(t *testing.T) {
	for _, headers := range []any{map[string]any{"X-A": "b"}, []any{map[string]any{"name": "X-A", "value": "b"}}} {
		cfg, err := load(t, map[string]any{
			"auth": map[string]any{"enabled": false}, "cors": nil, "tls": nil, "response_headers": headers, "middlewares": []any{map[string]any{"id": "limit/1"}},
			"compression_algorithms": []any{"gzip"}, "dialer": map[string]any{"timeout": "1s"},
		})
		require.NoError(t, err)
		value, _ := cfg.Server.ResponseHeaders.Get("X-A")
		assert.Equal(t, "b", string(value))
	}
}

// A wrong setting is refused with its key and what is allowed.
func TestWrongConfigurations(t *testing.T) {
	for name, c := range map[string]struct {
		settings map[string]any
		messages []string
	}{
		"unknown key":              {map[string]any{"histroy": "5m"}, []string{"histroy", "there is no such setting", "history", "auth"}},
		"unknown key of a section": {map[string]any{"tls": map[string]any{"client_ca_fil": "/ca"}}, []string{"tls::client_ca_fil: there is no such setting; allowed are ca_file, "}},
		"duration":                 {map[string]any{"history": "1d"}, []string{`history: must be a duration with a unit (h, m, s or ms), such as 30s or 1h30m, got "1d"`}},
		"duration of a section":    {map[string]any{"tls": map[string]any{"reload_interval": "1d"}}, []string{"tls::reload_interval: must be a duration with a unit"}},
		"part of a node":           {map[string]any{"max_nodes": 1.5}, []string{"max_nodes: must be a whole number, got 1.5"}},
		"empty":                    {map[string]any{"write_timeout": nil}, []string{"write_timeout: is empty"}},
		"no port":                  {map[string]any{"endpoint": "localhost"}, []string{"endpoint", "127.0.0.1:9410", "localhost"}},
		"no endpoint":              {map[string]any{"endpoint": ""}, []string{"endpoint", "127.0.0.1:9410"}},
		"port":                     {map[string]any{"endpoint": "127.0.0.1:65536"}, []string{"endpoint", "from 0 to 65535", "127.0.0.1:65536"}},
		"transport":                {map[string]any{"transport": "udp"}, []string{"transport", "unix", "udp"}},
		"history":                  {map[string]any{"history": "1s"}, []string{"history", "from 1m0s to 6h0m0s", "1s"}},
		"history points":           {map[string]any{"history_points": 0}, []string{"history_points", "from 1 to 10000"}},
		"gone_after":               {map[string]any{"gone_after": "0s"}, []string{"gone_after", "from 1m0s"}},
		"idle threshold":           {map[string]any{"idle_threshold": 1.5}, []string{"idle_threshold: must be from 0 to 1, got 1.5"}},
		"idle after":               {map[string]any{"idle_after": "0s"}, []string{"idle_after", "from 1s"}},
		"no write timeout":         {map[string]any{"write_timeout": "0s"}, []string{"write_timeout", "from 1ms"}},
		"no idle timeout":          {map[string]any{"keepalive": map[string]any{"idle_timeout": "0s"}}, []string{"keepalive::idle_timeout"}},
		"header timeout":           {map[string]any{"read_header_timeout": "0s"}, []string{"read_header_timeout", "to 1m0s"}},
		"no connections":           {map[string]any{"max_connections": 0}, []string{"max_connections", "from 1 to 100000", "got 0"}},
		"form":                     {map[string]any{"default_form": "b"}, []string{`default_form: must be empty or a, got "b"`}},
		"Grafana's scheme":         {map[string]any{"grafana_url": "javascript:alert(1)"}, []string{"grafana_url: must begin with http:// or https://", `got "javascript:alert(1)"`}},
		"Grafana's data":           {map[string]any{"grafana_url": "data:text/html,x"}, []string{"grafana_url"}},
		"Grafana's host":           {map[string]any{"grafana_url": "https:///d/gpu"}, []string{"grafana_url"}},
		"placeholder as a scheme":  {map[string]any{"grafana_url": "{node}://x"}, []string{"grafana_url"}},
		"placeholder as a host":    {map[string]any{"grafana_url": "https://{node}/d"}, []string{"grafana_url", "is not an address"}},
		"unknown placeholder":      {map[string]any{"grafana_url": "/d?var-uuid={uuid}"}, []string{"grafana_url", "allowed are {cluster}, {node}, {gpu}"}},
		"open placeholder":         {map[string]any{"grafana_url": "/d?var-node={node"}, []string{"grafana_url", "unknown placeholder"}},
		"no requests":              {map[string]any{"max_requests": -1}, []string{"max_requests", "got -1"}},
		"nodes":                    {map[string]any{"max_nodes": 0}, []string{"max_nodes"}},
		"GPUs":                     {map[string]any{"max_gpus": 0}, []string{"max_gpus"}},
		"processes":                {map[string]any{"max_processes": 0}, []string{"max_processes"}},
		"host with port":           {map[string]any{"allowed_hosts": []any{"gpus.example:443"}}, []string{"allowed_hosts", "gpus.example:443", "without scheme, port"}},
		"host with scheme":         {map[string]any{"allowed_hosts": []any{"https://gpus.example"}}, []string{"allowed_hosts"}},
		"host pattern":             {map[string]any{"allowed_hosts": []any{"*.example"}}, []string{"allowed_hosts"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, c.settings)
			require.Error(t, err)
			for _, message := range c.messages {
				assert.ErrorContains(t, err, message)
			}
		})
	}
}

// Each key is documented with its type and default, and no other key.
func TestKeysAreDocumented(t *testing.T) {
	pages := reference.Read(t, "..")
	documented := pages.Documented(map[string]string{"exporters::gpu_view": ""})
	settings := reference.Settings("", createDefaultConfig(), func(key string, _ reflect.Type) bool { // the Collector documents what is in these
		return slices.Contains([]string{"tls", "cors", "auth", "dialer", "response_headers", "middlewares", "keepalive"}, key)
	})
	settings = slices.DeleteFunc(settings, func(s reference.Setting) bool { return s.Key == "keepalive" })
	for key, deprecated := range map[string]string{"keepalive::enabled": "keep_alives_enabled", "keepalive::idle_timeout": "idle_timeout"} {
		i := slices.IndexFunc(settings, func(s reference.Setting) bool { return s.Key == deprecated }) // it has the default
		settings = append(settings, reference.Setting{Key: key, Type: settings[i].Type, Default: settings[i].Default})
	}
	reference.Compare(t, documented, settings, nil)
}

// Each example is accepted, and each setting is in one, except those that have no effect or are deprecated.
func TestExamplesAreAccepted(t *testing.T) {
	names := map[string]bool{}
	pages := reference.Read(t, "..")
	for _, example := range pages.Examples {
		for _, settings := range example.Components("exporters", "gpu_view") {
			_, err := load(t, settings)
			require.NoError(t, err, example.Text)
			reference.Given("", settings, names)
		}
	}
	for _, row := range pages.Documented(map[string]string{"exporters::gpu_view": ""}) {
		if !slices.Contains([]string{
			"max_request_body_size", "compression_algorithms", "include_metadata", "dialer", "middlewares", "idle_timeout", "keep_alives_enabled",
		}, row.Key) {
			assert.True(t, names[row.Key], "%s: no example has this key", row.Key)
		}
	}
}

var limits = regexp.MustCompile("from `?([0-9,]+[a-z]?)`? to `?([0-9,]+[a-z]?)`?")

// The documented limits are accepted, and nothing beyond them.
func TestLimitsAreDocumented(t *testing.T) {
	pages := reference.Read(t, "..")
	count := 0
	for _, row := range pages.Tables["Key below `exporters::gpu_view`"] {
		match := limits.FindStringSubmatch(row[3])
		if match == nil {
			continue
		}
		count++
		key := strings.Trim(row[0], "`")
		setting := func(documented string, more int) any {
			text := strings.ReplaceAll(documented, ",", "")
			unit := strings.TrimLeft(text, "0123456789")
			n, err := strconv.Atoi(strings.TrimSuffix(text, unit))
			require.NoError(t, err, key)
			if unit == "" {
				return n + more
			}
			return strconv.Itoa(n+more) + unit
		}
		for value, accepted := range map[any]bool{
			setting(match[1], 0): true, setting(match[1], -1): false, setting(match[2], 0): true, setting(match[2], 1): false,
		} {
			_, err := load(t, map[string]any{key: value})
			assert.Equal(t, accepted, err == nil, "%s: %v: %v", key, value, err)
		}
	}
	assert.Equal(t, 11, count)
}

func TestEveryOriginIsWarnedOf(t *testing.T) {
	cfg, err := load(t, map[string]any{"cors": map[string]any{"allowed_origins": []any{"*"}}})
	require.NoError(t, err)
	require.Len(t, cfg.warnings(true), 1)
	assert.Contains(t, cfg.warnings(true)[0], "allowed_origins")
}
