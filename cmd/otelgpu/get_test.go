// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The tables that otelgpu get prints of the sample fleet.
func TestGetTables(t *testing.T) {
	server := sampleServer(t)
	for name, args := range map[string]string{
		"nodes":               "nodes",
		"gpus":                "gpus",
		"gpus_by_utilization": "gpus --sort -utilization --limit 3",
		"gpus_n2":             "gpus --cluster prod --node n2",
		"processes":           "processes",
		"processes_train":     "-o table --namespace ml --pod train-0 processes",
		"processes_gpu":       "processes --cluster prod --node n1 --gpu 2",
		"summary":             "summary",
		"summary_by_node":     "summary --by node",
		"summary_by_cluster":  "summary --by cluster",
		"summary_by_workload": "summary --by workload",
		"workloads":           "workloads",
		"teams":               "teams",
		"teams_by_label":      "teams --by label --label team",
		"problems":            "problems",
		"problems_ended":      "problems --state ended --severity warning --kind throttled",
		"events":              "events --all",
	} {
		t.Run(name, func(t *testing.T) {
			got := otelgpu(t, append([]string{"get", "--server", server}, strings.Fields(args)...)...)
			require.Zero(t, got.code, got.err)
			path := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(got.out), 0o600))
			}
			want, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, string(want), got.out)
		})
	}
}

// JSON and CSV are the API's own, entry by entry, also if they come in several pages.
func TestGetIsTheAPIs(t *testing.T) {
	server := sampleServer(t)
	for resource, route := range map[string]string{
		"nodes": "nodes", "gpus": "metrics", "processes": "processes", "summary": "summary", "workloads": "workloads", "problems": "problems", "events": "events",
	} {
		t.Run(resource, func(t *testing.T) {
			for _, filters := range [][]string{{}, {"--cluster", "prod"}, {"--cluster", "prod", "--node", "n1"}} {
				query := url.Values{"limit": {"1000"}}
				for i := 0; i < len(filters); i += 2 {
					query.Set(strings.TrimPrefix(filters[i], "--"), filters[i+1])
				}
				var answer map[string]json.RawMessage
				require.NoError(t, json.Unmarshal(ask(t, server+"/api/v1/gpu/"+route+"?"+query.Encode(), "application/json"), &answer))
				items := answer["items"]
				if resource == "gpus" {
					items = answer["gpus"]
				}
				args := append([]string{"get", resource, "--server", server, "--all"}, filters...)
				got := otelgpu(t, append(args, "-o", "json")...)
				require.Zero(t, got.code, got.err)
				assert.JSONEq(t, string(items), got.out)

				got = otelgpu(t, append(args, "-o", "csv")...)
				require.Zero(t, got.code, got.err)
				assert.Equal(t, string(ask(t, server+"/api/v1/gpu/"+route+"?"+query.Encode(), "text/csv")), got.out)
			}
		})
	}
}

// With --wait otelgpu get asks until the server is there and has an entry.
func TestGetWaits(t *testing.T) {
	reader := viewtest.NewReader(&view.Snapshot{Time: viewtest.Now, Generation: 1})
	handler := api.New(reader, api.Settings{})
	defer handler.Close()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch requests.Add(1) {
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		case 3:
			reader.Set(viewtest.Snapshot())
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	got := otelgpu(t, "get", "gpus", "--server", server.URL, "--wait", patience.String())
	assert.Zero(t, got.code, got.err)
	assert.Contains(t, got.out, "MI300X")
	assert.EqualValues(t, 3, requests.Load())

	got = otelgpu(t, "get", "gpus", "--server", emptyServer(t), "--wait", "1s")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.err, " lists no gpus after 1s; run `otelgpu doctor`")
	assert.Empty(t, got.out)
	got = otelgpu(t, "get", "gpus", "--server", "http://127.0.0.1:1", "--wait", "1s")
	assert.Equal(t, 1, got.code)
	assert.Contains(t, got.err, "connection refused; start a collector")

	requests.Store(0)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer refusing.Close()
	got = otelgpu(t, "get", "gpus", "--server", refusing.URL, "--wait", "1h")
	assert.Equal(t, 1, got.code)
	assert.EqualValues(t, 1, requests.Load(), "no waiting gives credentials")
	assert.Equal(t, 2, otelgpu(t, "get", "gpus", "--wait", "-1s").code)
}

func ask(t *testing.T, url, accept string) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", accept)
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return body
}

// The number of entries that were left out is said, and not in the output that a program reads.
func TestGetLimit(t *testing.T) {
	server := sampleServer(t)
	got := otelgpu(t, "get", "gpus", "--server", server, "--limit", "2", "-o", "json")
	require.Zero(t, got.code)
	assert.Equal(t, "otelgpu: 2 of 11 gpus; --all prints all\n", got.err)
	var gpus []map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.out), &gpus))
	assert.Len(t, gpus, 2)
	got = otelgpu(t, "get", "gpus", "--server", server, "--all", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(got.out), &gpus))
	assert.Len(t, gpus, 11)
	assert.Empty(t, got.err)
}

// Credentials reach the server, flags before the environment.
func TestGetCredentials(t *testing.T) {
	var header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Authorization")
		http.Error(w, "no", http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("s3cret\n"), 0o600))
	for args, want := range map[string]string{
		"":                                     "Bearer fr0menv",
		"--token-file " + file:                 "Bearer s3cret",
		"--user alice --password-file " + file: "Basic YWxpY2U6czNjcmV0",
		"--timeout 3m --token-file=" + file + " ": "Bearer s3cret",
	} {
		t.Setenv(envToken, "fr0menv")
		got := otelgpu(t, append([]string{"get", "nodes", "--server", server.URL}, strings.Fields(args)...)...)
		assert.Equal(t, want, header)
		assert.Equal(t, 1, got.code)
		assert.Contains(t, got.err, "requires credentials, or rejects the credentials that were sent; give --token-file, or --user and --password-file")
		assert.NotContains(t, got.err, "s3cret")
		assert.NotContains(t, got.err, "fr0menv")
	}
	t.Setenv(envUser, "alice")
	t.Setenv(envPassword, "s3cret")
	otelgpu(t, "get", "nodes", "--server", server.URL)
	assert.Equal(t, "Basic YWxpY2U6czNjcmV0", header)
}
