// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestCredentials(t *testing.T) {
	var header string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Get("Authorization")
		send(200, "application/json", `{"items":[]}`)(w, r)
	}))
	t.Cleanup(server.Close)
	token := write(t, "s3cret\n")
	for _, tc := range []struct {
		authorize Authorize
		want      string
	}{
		{nil, ""},
		{Bearer(FromFile(token)), "Bearer s3cret"},
		{Bearer(Fixed(" s3cret ", "OTELGPU_TOKEN")), "Bearer s3cret"},
		{Basic("alice", FromFile(token)), "Basic YWxpY2U6czNjcmV0"},
	} {
		c := newClient(t, Settings{Server: server.URL, Authorize: tc.authorize})
		_, err := c.List(t.Context(), Nodes, nil, 1)
		require.NoError(t, err)
		assert.Equal(t, tc.want, header)
	}

	// A token that is replaced is sent with the next request.
	c := newClient(t, Settings{Server: server.URL, Authorize: Bearer(FromFile(token))})
	require.NoError(t, os.WriteFile(token, []byte("n3w"), 0o600))
	_, err := c.List(t.Context(), Nodes, nil, 1)
	require.NoError(t, err)
	assert.Equal(t, "Bearer n3w", header)
}

// No error repeats a secret.
func TestEmptySecrets(t *testing.T) {
	for name, secret := range map[string]Secret{
		"several lines": FromFile(write(t, "s3cret\ns3cret")),
		"empty":         FromFile(write(t, " \n")),
		"long":          FromFile(write(t, strings.Repeat("s3cret", 1<<20))),
		"missing":       FromFile(filepath.Join(t.TempDir(), "none")),
		"variable":      Fixed("s3cret\x00", "OTELGPU_TOKEN"),
	} {
		c := newClient(t, Settings{Server: DefaultServer, Authorize: Bearer(secret)})
		_, err := c.List(t.Context(), Nodes, nil, 1)
		require.Error(t, err, name)
		assert.NotContains(t, err.Error(), "s3cret", name)
	}
}
