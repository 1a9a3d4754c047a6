// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/ledger"
)

// ledgerAnswer is an answer of the ledger: team has two models, lab has one without a price, and a quarter of an hour was unallocated.
// The energy of lab was not read.
const ledgerAnswer = `{"since":"2026-01-01T00:00:00Z","until":"2026-01-02T00:00:00Z","rows":[
	{"name":"","model":"NVIDIA H100 80GB HBM3","held":0,"used":0,"idle":0,"unknown_use":0,"unallocated":900,"unknown":1800},
	{"name":"lab","model":"AMD Instinct MI300X","held":3600,"used":0,"idle":0,"unknown_use":3600,"unallocated":0,"unknown":0},
	{"name":"team","model":"NVIDIA A100-SXM4-80GB","held":7200,"used":7200,"idle":0,"unknown_use":0,"unallocated":0,"unknown":0,"energy":0},
	{"name":"team","model":"NVIDIA H100 80GB HBM3 MIG 3g.40gb","held":36000,"used":18000,"idle":18000,"unknown_use":0,"unallocated":0,"unknown":0,"energy":7200000}]}`

// The prices of docs/operate/ledger.md can be read.
func TestDocumentedPrices(t *testing.T) {
	page, err := os.ReadFile("../../docs/operate/ledger.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, block)
	file := filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.WriteFile(file, block[1], 0o600))
	prices, err := ledger.ReadPrices(file)
	require.NoError(t, err)
	assert.Equal(t, &ledger.Prices{Currency: "EUR", GPUHour: map[string]float64{"NVIDIA H100": 2.5, "NVIDIA": 1.2}, KWh: 0.3}, prices)
}

func TestReport(t *testing.T) {
	var request string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request = r.URL.RequestURI()
		_, _ = w.Write([]byte(ledgerAnswer))
	}))
	defer server.Close()
	prices := filepath.Join(t.TempDir(), "prices.yaml")
	require.NoError(t, os.WriteFile(prices, []byte("currency: EUR\ngpu_hour: {NVIDIA H100: 3, NVIDIA: 1}\nkwh: 0.5\n"), 0o600))
	run := func(args ...string) (code int, out, errs string) {
		r := otelgpu(t, append([]string{"report", "--server", server.URL, "--since", "2026-01-01", "--until", "2026-01-02"}, args...)...)
		return r.code, r.out, r.err
	}

	code, out, errs := run("--prices", prices)
	require.Equal(t, exitFine, code, errs)
	assert.Equal(t, "/api/v1/report?by=namespace&since=2026-01-01T00%3A00%3A00Z&until=2026-01-02T00%3A00%3A00Z", request)
	assert.Equal(t, `namespace  held_hours  used_hours  idle_hours  unknown_use_hours  unallocated_hours  unknown_hours   kwh   cost  waste
team            12.00        7.00        5.00               0.00               0.00           0.00  2.00  33.00  15.00
lab              1.00        0.00        0.00               1.00               0.00           0.00
-                0.00        0.00        0.00               0.00               0.25           0.50         0.00   0.00
`, out)

	code, out, _ = run("--output", "csv", "--by", "label", "--label", "cost-center")
	require.Equal(t, exitFine, code)
	assert.Contains(t, request, "by=label&label=cost-center&")
	assert.Contains(t, out, "name,held_hours,used_hours,idle_hours,unknown_use_hours,unallocated_hours,unknown_hours,kwh\nteam,12.000000,7.000000,5.000000,")
	assert.Contains(t, out, "\nlab,1.000000,0.000000,0.000000,1.000000,0.000000,0.000000,\n")

	code, out, _ = run("--output", "json", "--prices", prices)
	require.Equal(t, exitFine, code)
	assert.Contains(t, out, `"currency": "EUR"`)
	assert.Contains(t, out, `"cost": 33`)
	assert.Equal(t, 1, strings.Count(out, `"kwh"`), out)

	for _, wrong := range [][]string{
		{"--by", "pods"}, {"--by", "label"}, {"--label", "x"}, {"--output", "xml"}, {"words"}, {"--since", "yesterday"}, {"--since", "2027-01-01"},
	} {
		code, _, errs = run(wrong...)
		assert.Equal(t, exitUsage, code, "%v: %s", wrong, errs)
	}
	require.NoError(t, os.WriteFile(prices, []byte("gpu_hours: {NVIDIA: 1}\n"), 0o600))
	code, _, errs = run("--prices", prices)
	assert.Equal(t, exitError, code)
	assert.Contains(t, errs, "it must contain currency, gpu_hour (a price by model) and kwh")
}
