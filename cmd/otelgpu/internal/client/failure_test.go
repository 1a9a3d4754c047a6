// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A failure says what happened and what to do.
func TestFailures(t *testing.T) {
	const html = "<html>not here</html>"
	half := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"items":[`)
	}
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    string
		status  int
	}{
		"no JSON":         {send(200, "text/html", html), "that is not the API's JSON", 0},
		"no list":         {send(200, "application/json", `{"hello":1}`), "is not a list of the API; check that --server is the address of the gpu_view exporter", 0},
		"null":            {send(200, "application/json", `null`), "is not a list of the API", 0},
		"another type":    {send(200, "application/json", `{"items":{"a":1}}`), "that is not the API's JSON", 0},
		"half an answer":  {half, "ended early: unexpected EOF; try again", 0},
		"nothing":         {send(200, "application/json", ""), "that is not the API's JSON", 0},
		"401":             {send(401, "text/plain", "no"), "requires credentials, or rejects the credentials that were sent; give --token-file, or --user and --password-file", 401},
		"403":             {send(403, "text/plain", "no"), "answered Forbidden; use credentials that are allowed to read", 403},
		"404":             {send(404, "text/html", html), "answered Not Found; check that --server is the address of the gpu_view exporter", 404},
		"502":             {send(502, "text/html", html), "answered Bad Gateway; try again later", 502},
		"418":             {send(418, "text/html", html), "answered 418; check", 418},
		"problem of none": {send(404, "application/problem+json", html), "answered Not Found; check", 404},
		"empty problem":   {send(404, "application/problem+json", "{}"), "answered Not Found; check", 404},
		"problem": {
			send(404, "application/problem+json", `{"title":"Unknown node","detail":"n9","remedy":"Look in /api/v1/gpu/nodes."}`),
			"Unknown node: n9; Look in /api/v1/gpu/nodes.", 404,
		},
		"problem with candidates": {
			send(409, "application/problem+json; charset=utf-8", `{"title":"Several have the name","detail":"n1","remedy":"Name one.","candidates":["lab/n1","prod/n1"]}`),
			"Several have the name: n1: lab/n1, prod/n1; Name one.", 409,
		},
		"problem with reasons": {
			send(503, "application/problem+json", `{"title":"No GPU can be read","remedy":"Look at the reasons.","reasons":["nvml: driver_not_loaded"]}`),
			"No GPU can be read (nvml: driver_not_loaded); Look at the reasons.", 503,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, tc.handler).List(t.Context(), Nodes, nil, 10)
			require.ErrorContains(t, err, tc.want)
			var failure *Failure
			require.ErrorAs(t, err, &failure)
			assert.Equal(t, tc.status, failure.Status)
		})
	}
}
