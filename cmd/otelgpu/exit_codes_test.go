// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// The exit code says whose mistake it is: 1 of the server or the fleet, 2 of the command line.
func TestExitCodes(t *testing.T) {
	server := sampleServer(t)
	dead := httptest.NewServer(http.NotFoundHandler())
	dead.Close()
	for args, want := range map[string]result{
		"":                                 {code: 2, err: "otelgpu: no command; give top, get, report, run or doctor, or -h for help\n"},
		"fly":                              {code: 2, err: "otelgpu: unknown command \"fly\"; give top, get, report, run or doctor, or -h for help\n"},
		"get":                              {code: 2, err: "otelgpu: get \"\"; give one of nodes, gpus, processes, summary, workloads, teams, problems, events\n"},
		"get pods":                         {code: 2, err: "otelgpu: get \"pods\"; give one of nodes, gpus, processes, summary, workloads, teams, problems, events\n"},
		"get nodes gpus":                   {code: 2, err: "otelgpu: get \"nodes gpus\"; give one of nodes, gpus, processes, summary, workloads, teams, problems, events\n"},
		"get nodes -o xml":                 {code: 2, err: "otelgpu: -o xml; give one of table, json, csv\n"},
		"get nodes --limit 0":              {code: 2, err: "otelgpu: --limit 0; give a number above 0, or --all\n"},
		"get nodes --limit x":              {code: 2, err: "otelgpu: invalid value \"x\" for flag -limit: parse error; -h lists the flags\n"},
		"get nodes --password x":           {code: 2, err: "otelgpu: flag provided but not defined: -password; -h lists the flags\n"},
		"get nodes --user a":               {code: 2, err: "otelgpu: --user without a password; give --password-file, or set OTELGPU_PASSWORD\n"},
		"get nodes --password-file a":      {code: 2, err: "otelgpu: --password-file without a user; give --user\n"},
		"get nodes --server ftp://h":       {code: 2, err: "otelgpu: the scheme of the server's address is \"ftp\"; give it as http://HOST:PORT or https://HOST:PORT\n"},
		"get nodes --timeout 0s":           {code: 2, err: "otelgpu: --timeout is 0s; give a time above 0\n"},
		"top GPU-0":                        {code: 2, err: "otelgpu: top GPU-0: only flags are accepted; -h lists them\n"},
		"top --interval 1ms":               {code: 2, err: "otelgpu: --interval is 1ms; give at least 100ms\n"},
		"get nodes --ca-file /none":        {code: 1, err: "otelgpu: read the certificates: open /none: no such file or directory\n"},
		"get nodes --token-file /none":     {code: 1, err: "otelgpu: read the secret: open /none: no such file or directory\n"},
		"get gpus --node none":             {code: 1, err: "otelgpu: Unknown node: none; Look in /api/v1/gpu/nodes for the known nodes and GPUs. Nodes that were silent for long are forgotten.\n"},
		"get gpus --sort weight":           {code: 1},
		"get nodes --server " + dead.URL:   {code: 1},
		"top --server " + dead.URL:         {code: 1},
		"get nodes --limit 1000000 -o csv": {code: 0},
	} {
		t.Run(args, func(t *testing.T) {
			t.Setenv(envServer, server)
			got := otelgpu(t, strings.Fields(args)...)
			assert.Equal(t, want.code, got.code)
			if want.err != "" {
				assert.Equal(t, want.err, got.err)
			}
			if want.code != 0 {
				assert.Empty(t, got.out)
				assert.NotEmpty(t, got.err)
			}
		})
	}
}
