// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.uber.org/zap"
)

// The API, the compatible formats and the page are at their paths, through all the handlers before them.
func TestPaths(t *testing.T) {
	s := startServer(t, testConfig(), componenttest.NewNopHost(), newHandler(newFakeStore(), testConfig(), zap.NewNop()))
	for path, want := range map[string]struct {
		status    int
		mediaType string
	}{
		"":                     {http.StatusOK, "text/html; charset=utf-8"},
		"docs":                 {http.StatusOK, "text/html; charset=utf-8"},
		"redoc":                {http.StatusOK, "text/html; charset=utf-8"}, // after a redirect
		"app.js":               {http.StatusOK, "text/javascript; charset=utf-8"},
		"healthz":              {http.StatusOK, "application/json"},
		"api/v1/gpu/nodes":     {http.StatusOK, "application/json"},
		"api/v1/gpu/nothing":   {http.StatusNotFound, "application/problem+json"},
		"api":                  {http.StatusNotFound, "application/problem+json"},
		"docs/":                {http.StatusNotFound, "application/problem+json"},
		"gpu/info":             {http.StatusOK, "application/json"},
		"gpu/nothing":          {http.StatusNotFound, "application/problem+json"},
		"nothing":              {http.StatusNotFound, "application/problem+json"},
		"api/v1/gpu/../../app": {http.StatusNotFound, "application/problem+json"},
	} {
		got := get(t, s.url()+path)
		assert.Equal(t, want.status, got.status, path)
		assert.Equal(t, want.mediaType, got.header.Get("Content-Type"), path)
		policy := got.header.Get("Content-Security-Policy")
		require.NotEmpty(t, policy, path)
		if want.mediaType == "text/html; charset=utf-8" {
			assert.Contains(t, policy, "script-src 'self'", "the page's own")
		}
		assert.Equal(t, "nosniff", got.header.Get("X-Content-Type-Options"), path)
	}
}
