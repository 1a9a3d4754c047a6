// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve answers requests on a Unix socket, and returns its endpoint.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rt") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	require.NoError(t, err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return "unix://" + path
}

func TestSocketFails(t *testing.T) {
	status := func(code int, body string) string {
		return serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); _, _ = w.Write([]byte(body)) })
	}
	for name, tt := range map[string]struct{ endpoint, want string }{
		"none":              {"unix:///nonexistent/docker.sock", "no such file or directory"},
		"error":             {status(http.StatusInternalServerError, ""), "it answers 500 Internal Server Error"},
		"redirect":          {status(http.StatusFound, ""), "it answers 302 Found"},
		"garbage":           {status(http.StatusOK, "<html>TOKEN"), "it is not the JSON of a container"},
		"another container": {status(http.StatusOK, dockerState(other, "web", "web")), "it describes another container"},
		"endless":           {status(http.StatusOK, strings.Repeat(" ", maxContainer+1)), "is longer than 4194304 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := find(t, &Config{Docker: &DockerConfig{Endpoint: tt.endpoint}}, id)
			assert.Nil(t, got)
			require.ErrorContains(t, err, tt.want)
			assert.NotContains(t, err.Error(), "TOKEN")
			assert.NotContains(t, err.Error(), id, "the error is one for all containers")
		})
	}
}

// A socket that does not answer is waited for no longer than the caller waits.
func TestSocketHangs(t *testing.T) {
	requests := make(chan struct{})
	end := make(chan struct{})
	endpoint := serve(t, func(http.ResponseWriter, *http.Request) { close(requests); <-end })
	t.Cleanup(func() { close(end) })
	ctx, cancel := context.WithCancel(context.Background())
	go func() { <-requests; cancel() }()
	_, err := New(&Config{Docker: &DockerConfig{Endpoint: endpoint}}).Find(ctx, id)
	require.ErrorIs(t, err, context.Canceled)
}
