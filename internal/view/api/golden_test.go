// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Answers byte by byte: fields, their order, and how numbers, times and what is absent are written.
func TestGoldenAnswers(t *testing.T) {
	for file, request := range map[string][]string{
		"summary_by_cluster.json": {"/api/v1/gpu/summary?by=cluster"},
		"node_without_gpus.json":  {"/api/v1/gpu/nodes/prod/empty"},
		"failed_gpu.json":         {"/api/v1/gpu/metrics/GPU-n2-1"},
		"processes.json":          {"/api/v1/gpu/processes"},
		"events.json":             {"/api/v1/gpu/events"},
		"ambiguous_node.json":     {"/api/v1/gpu/nodes/n1"},
		"gpus.csv":                {"/api/v1/gpu/metrics", "Accept", "text/csv"},
		"processes.csv":           {"/api/v1/gpu/processes", "Accept", "text/csv"},
	} {
		path := filepath.Join("testdata", "golden", file)
		got := ask(t, sampleHandler(), http.MethodGet, request[0], request[1:]...).Body.Bytes()
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
			require.NoError(t, os.WriteFile(path, got, 0o600))
			continue
		}
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), file)
	}
}
