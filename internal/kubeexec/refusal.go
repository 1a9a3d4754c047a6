// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

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
	"k8s.io/apimachinery/pkg/util/httpstream"
)

// refusal is an answer of the API server, or of a proxy before it, that is no upgrade.
type refusal struct {
	code       int
	message    string
	retryAfter time.Duration // 0: none was told
}

// maxRetryAfter bounds what a server may ask for.
const (
	maxRetryAfter     = 10 * time.Minute
	defaultRetryAfter = 5 * time.Second
)

// Error implements error.
func (r *refusal) Error() string {
	text := fmt.Sprintf("the API server answered %d %s", r.code, http.StatusText(r.code))
	if r.message != "" {
		text += ": " + r.message
	}
	switch r.code {
	case http.StatusUnauthorized:
		text += "; check the credentials of this cluster"
	case http.StatusForbidden:
		text += "; grant get and create on pods/exec in this namespace"
	}
	return text
}

// throttled tells that the server wants fewer requests.
func (r *refusal) throttled() bool {
	return r.code == http.StatusTooManyRequests || r.code == http.StatusServiceUnavailable && r.retryAfter > 0
}

// refusalOf finds the refusal that an error is about; nil if it is about none. An UpgradeFailureError does not unwrap.
func refusalOf(err error) *refusal {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) {
		err = upgrade.Cause
	}
	var r *refusal
	if !errors.As(err, &r) {
		return nil
	}
	return r
}

// throttled tells whether an error is that the API server wants fewer requests, and for how long it wants none.
func throttled(err error) (time.Duration, bool) {
	r := refusalOf(err)
	if r == nil || !r.throttled() {
		return 0, false
	}
	if r.retryAfter == 0 {
		return defaultRetryAfter, true
	}
	return r.retryAfter, true
}

// maxRefusal bounds what is read of a refusal.
const maxRefusal = 8 << 10

// refused reads a refusal.
func refused(response *http.Response) *refusal {
	r := &refusal{code: response.StatusCode}
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // what came is enough
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
		r.retryAfter = maxRetryAfter
		if n < int(maxRetryAfter/time.Second) {
			r.retryAfter = time.Duration(n) * time.Second
		}
	}
	return r
}

// maxExcerpt is how much of a text from elsewhere is put into a message.
const maxExcerpt = 300

// excerpt makes one line of a text from elsewhere that can stand in a message.
func excerpt(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return text
}
