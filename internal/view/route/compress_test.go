// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestCompress(t *testing.T) {
	long := strings.Repeat("0123456789", 1000)
	h := Compress(Mux([]Route{
		{Path: "/long", Serve: func(w http.ResponseWriter, r *Request) error {
			w.Header().Set("Content-Type", JSON)
			w.Header().Set("ETag", `W/"1"`)
			if r.Header.Get("If-None-Match") == `W/"1"` {
				w.WriteHeader(http.StatusNotModified)
				return nil
			}
			_, err := io.WriteString(w, long)
			return err
		}},
		{Path: "/short", Serve: func(w http.ResponseWriter, _ *Request) error {
			_, err := io.WriteString(w, "{}")
			return err
		}},
		{Path: "/stream", Serve: func(w http.ResponseWriter, _ *Request) error {
			w.Header().Set("Content-Type", EventStream)
			_, err := io.WriteString(w, long)
			return err
		}},
	}, "", zap.NewNop()))
	get := func(path string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}

	w := get("/long", "Accept-Encoding", "br, gzip")
	assert.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	assert.Equal(t, `W/"1"`, w.Header().Get("ETag"), "the tag of both encodings")
	assert.Contains(t, w.Header().Values("Vary"), "Accept-Encoding")
	assert.Less(t, w.Body.Len(), len(long)/20)
	plain, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	text, err := io.ReadAll(plain)
	require.NoError(t, err)
	assert.Equal(t, long, string(text))

	for _, accept := range []string{"", "identity", "gzip;q=0", "br"} {
		w = get("/long", "Accept-Encoding", accept)
		assert.Empty(t, w.Header().Get("Content-Encoding"), accept)
		assert.Equal(t, long, w.Body.String(), accept)
		assert.Contains(t, w.Header().Values("Vary"), "Accept-Encoding", accept)
	}
	w = get("/long", "Accept-Encoding", "gzip", "If-None-Match", `W/"1"`)
	assert.Equal(t, http.StatusNotModified, w.Code)
	assert.Empty(t, w.Body.String())
	assert.JSONEq(t, "{}", get("/short", "Accept-Encoding", "gzip").Body.String())
	assert.Equal(t, long, get("/stream", "Accept-Encoding", "gzip").Body.String())
	w = get("/nothing", "Accept-Encoding", "gzip")
	assert.Equal(t, http.StatusNotFound, w.Code)
	assert.Contains(t, w.Header().Values("Content-Type"), ProblemJSON)
}

// Half of a compressed answer does not look complete either.
func TestFailureWithinACompressedAnswer(t *testing.T) {
	h := Compress(Mux([]Route{{Path: "/half", Serve: func(w http.ResponseWriter, _ *Request) error {
		_, _ = w.Write([]byte(strings.Repeat("x", 100_000)))
		return errors.New("no more")
	}}}, "", zap.NewNop()))
	server := httptest.NewServer(h)
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/half")
	if err == nil {
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
	}
	assert.Error(t, err)
}
