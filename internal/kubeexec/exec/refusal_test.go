// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/streaming/pkg/httpstream"
)

// Answers of an API server, or of a proxy before it, instead of the upgrade.
func TestRefused(t *testing.T) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"etcd is busy","code":503`
	for _, tt := range []struct {
		name, after, body string
		code              int
		want              string
		wait              time.Duration // 0: no pause requested
	}{
		{name: "a status", code: 500, body: status + `}`, want: "the API server answered 500 Internal Server Error: etcd is busy"},
		{name: "busy, no time given", code: 503, body: status + `}`, want: "503 Service Unavailable: etcd is busy"},
		{name: "busy, with a time", code: 503, after: "3", want: "503 Service Unavailable", wait: 3 * time.Second},
		{name: "the time in the status", code: 503, body: status + `,"details":{"retryAfterSeconds":4}}`, want: "etcd is busy", wait: 4 * time.Second},
		{name: "the header's counts", code: 429, after: "5", body: status + `,"details":{"retryAfterSeconds":4}}`, want: "etcd is busy", wait: 5 * time.Second},
		{name: "another answer with a time", code: 502, after: "3", want: "502 Bad Gateway"},
		{name: "a date", code: 429, after: "Fri, 31 Dec 1999 23:59:59 GMT", want: "429 Too Many Requests", wait: defaultRetryAfter},
		{name: "less than nothing", code: 429, after: "-7", want: "429 Too Many Requests", wait: defaultRetryAfter},
		{name: "the longest", code: 429, after: "600", want: "429 Too Many Requests", wait: maxRetryAfter},
		{name: "longer", code: 429, after: "601", want: "429 Too Many Requests", wait: maxRetryAfter},
		{name: "a proxy's page", code: 502, body: "<html>\n <b>no  backend</b></html>", want: "502 Bad Gateway: <html> <b>no backend</b></html>"},
		{name: "some other JSON", code: 403, body: `{"message":"denied"}`, want: `403 Forbidden: {"message":"denied"}; grant get and create on pods/exec`},
		{name: "a long page", code: 502, body: strings.Repeat("é", maxExcerpt), want: strings.Repeat("é", maxExcerpt/2) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			response := &http.Response{StatusCode: tt.code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(tt.body))}
			if tt.after != "" {
				response.Header.Set("Retry-After", tt.after)
			}
			r := refused(response)
			assert.Contains(t, r.Error(), tt.want)
			wait, ok := Throttled(&httpstream.UpgradeFailureError{Cause: r})
			assert.Equal(t, tt.wait, wait)
			assert.Equal(t, tt.wait > 0, ok)
		})
	}
}
