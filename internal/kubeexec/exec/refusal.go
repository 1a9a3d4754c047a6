// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Refusal is the answer of an API server, or of a proxy before it, that refuses an upgrade.
type Refusal struct {
	Code       int           // the status code of HTTP
	RetryAfter time.Duration // the pause that the server asks for; 0: none
	message    string
}

const (
	// maxRetryAfter bounds the pause that a server may ask for.
	maxRetryAfter = 10 * time.Minute
	// defaultRetryAfter is the pause if a server asks for fewer requests and names no pause.
	defaultRetryAfter = 5 * time.Second
)

// Error implements error.
func (r *Refusal) Error() string {
	text := fmt.Sprintf("the API server answered %d %s", r.Code, http.StatusText(r.Code))
	if r.message != "" {
		text += ": " + r.message
	}
	switch r.Code {
	case http.StatusUnauthorized:
		text += "; check the credentials of this cluster"
	case http.StatusForbidden:
		text += "; grant get and create on pods/exec in this namespace"
	}
	return text
}

// throttled reports whether the server asks for fewer requests.
func (r *Refusal) throttled() bool {
	return r.Code == http.StatusTooManyRequests || r.Code == http.StatusServiceUnavailable && r.RetryAfter > 0
}

// refusalOf returns the refusal in an error, else nil. httpstream.UpgradeFailureError has no Unwrap.
func refusalOf(err error) *Refusal {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) {
		err = upgrade.Cause
	}
	var r *Refusal
	if !errors.As(err, &r) {
		return nil
	}
	return r
}

// Throttled reports whether an API server has asked for fewer requests, and for how long to pause.
func Throttled(err error) (time.Duration, bool) {
	r := refusalOf(err)
	if r == nil || !r.throttled() {
		return 0, false
	}
	if r.RetryAfter == 0 {
		return defaultRetryAfter, true
	}
	return r.RetryAfter, true
}

// maxRefusal bounds the body of a refusal.
const maxRefusal = 8 << 10

// refused reads the refusal in a response.
func refused(response *http.Response) *Refusal {
	r := &Refusal{Code: response.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // a part is enough
	seconds := response.Header.Get("Retry-After")
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" {
		r.message = status.Message
		if seconds == "" && status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			seconds = strconv.Itoa(int(status.Details.RetryAfterSeconds))
		}
	} else {
		r.message = excerpt(string(body))
	}
	if n, err := strconv.Atoi(seconds); err == nil && n > 0 {
		r.RetryAfter = maxRetryAfter
		if n < int(maxRetryAfter/time.Second) {
			r.RetryAfter = time.Duration(n) * time.Second
		}
	}
	return r
}

// maxExcerpt bounds text from a server or a tool in a message.
const maxExcerpt = 300

// excerpt makes one line of a text from a server or a tool.
func excerpt(text string) string {
	text = strings.Join(strings.Fields(gpu.CleanText(text)), " ")
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return text
}
