// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// tool returns the path of a program of Debian's package prometheus.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not in PATH; on Debian: apt-get install --no-install-recommends prometheus", name)
	}
	return path
}

// scrapingPrometheus starts a Prometheus that scrapes pages every second, and returns its address. The configuration is the rest of it.
func scrapingPrometheus(t *testing.T, config string, pages ...string) string {
	t.Helper()
	var targets []string
	for _, page := range pages {
		targets = append(targets, strconv.Quote(strings.TrimSuffix(strings.TrimPrefix(page, "http://"), "/metrics")))
	}
	return startPrometheus(t, tool(t, "prometheus"), config+"\nscrape_configs:\n- {job_name: gpu, scrape_interval: 1s, static_configs: [{targets: ["+
		strings.Join(targets, ", ")+"]}]}\n")
}

// otlpPrometheus starts a Prometheus that takes OTLP, and returns its address.
func otlpPrometheus(t *testing.T, config string) string {
	t.Helper()
	binary := os.Getenv("PROMETHEUS_OTLP")
	if binary == "" {
		t.Skip("no Prometheus that takes OTLP: PROMETHEUS_OTLP does not name it; run `make test-collector`, which builds it")
	}
	return startPrometheus(t, binary, config, "--web.enable-otlp-receiver")
}

// startPrometheus starts a Prometheus, and returns its address when it is ready.
func startPrometheus(t *testing.T, binary, config string, args ...string) string {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	path := filepath.Join(dir, "prometheus.yaml")
	require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
	process, err := harness.Start(harness.Options{Binary: binary, Dir: dir, Args: append([]string{
		"--config.file=" + path, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + address,
	}, args...)})
	require.NoError(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Output())
		}
		// A busy sender gives up a request and sends it again: that is not a complaint about its data.
		output := regexp.MustCompile(`(?m)^.*context canceled.*$`).ReplaceAllString(process.Output(), "")
		for _, complaint := range []string{"out of order", "out-of-order", "duplicate sample", "level=ERROR", "level=error"} {
			assert.NotContains(t, output, complaint)
		}
	})
	eventually(t, patience, "Prometheus is ready", func() bool {
		require.True(t, process.Running(), process.Output())
		code, _, err := harness.Get(t.Context(), "http://"+address+"/-/ready")
		return err == nil && code == 200
	})
	return address
}

// ask queries Prometheus for one number; -1 if there is none yet.
func ask(t *testing.T, address, query string) float64 {
	t.Helper()
	code, body, err := harness.Get(t.Context(), "http://"+address+"/api/v1/query?query="+url.QueryEscape(query))
	if err != nil || code != 200 {
		return -1
	}
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	if len(answer.Data.Result) != 1 {
		return -1
	}
	value, err := strconv.ParseFloat(answer.Data.Result[0].Value[1].(string), 64)
	require.NoError(t, err)
	return value
}

// becomes waits until Prometheus answers a query with this number. A scrape that is late may leave a query without an answer for a while.
func becomes(t *testing.T, address, query string, want float64) {
	t.Helper()
	eventually(t, patience, fmt.Sprint(query, " is ", want), func() bool { return ask(t, address, query) == want })
}

// labelsAt asks Prometheus for the labels of the series that a query has at a time.
func labelsAt(t *testing.T, address, query string, now time.Time) []map[string]string {
	t.Helper()
	code, body, err := harness.Get(t.Context(), fmt.Sprintf("http://%s/api/v1/query?query=%s&time=%.3f", address, url.QueryEscape(query),
		float64(now.UnixMilli())/1000))
	require.NoError(t, err)
	require.Equal(t, 200, code, body)
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string `json:"metric"`
			} `json:"result"`
		} `json:"data"`
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	var all []map[string]string
	for _, ok := range answer.Data.Result {
		all = append(all, ok.Metric)
	}
	return all
}
