// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// Failure is why an answer is missing. Its texts may contain what a server sent.
type Failure struct {
	What       string   // what happened
	Do         string   // what to do
	Status     int      // of HTTP; 0: there was no answer
	Reasons    []string // of sources that cannot read
	Candidates []string // for an ambiguous name: cluster/node
}

// Error returns "what; what to do".
func (f *Failure) Error() string {
	var b strings.Builder
	b.WriteString(f.What)
	if len(f.Reasons) > 0 {
		b.WriteString(" (" + strings.Join(f.Reasons, ", ") + ")")
	}
	if len(f.Candidates) > 0 {
		b.WriteString(": " + strings.Join(f.Candidates, ", "))
	}
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// unreachable is a request without an answer.
func (c *Client) unreachable(err error) error {
	if outer := (*url.Error)(nil); errors.As(err, &outer) {
		err = outer.Err // without the URL
	}
	f := &Failure{What: fmt.Sprintf("%s: %v", c.server, err), Do: "check --server and the network"}
	var (
		network     net.Error
		authority   x509.UnknownAuthorityError
		certificate x509.CertificateInvalidError
		host        x509.HostnameError
		name        *net.DNSError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &authority), errors.As(err, &certificate):
		f.Do = "give the certificate of the authority that signed the server's with --ca-file"
	case errors.As(err, &host):
		f.Do = "use a name that is in the server's certificate"
	case errors.As(err, &name):
		f.Do = "check the name in --server"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.What = c.server.String() + ": connection refused"
		f.Do = "start a collector with the gpu_view exporter there, or give another address with --server"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		f.What = fmt.Sprintf("%s did not answer within %v", c.server, c.timeout)
		f.Do = "try again later, or check the address and the network"
	case strings.Contains(err.Error(), "HTTP response to HTTPS"): // net/http has no type for it
		f.Do = "use http:// in --server"
	}
	return f
}

// broken is an answer that ended early.
func (c *Client) broken(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return c.unreachable(err)
	}
	return &Failure{What: fmt.Sprintf("the answer of %s ended early: %v", c.server, err), Do: "try again; look at the collector's log if it happens again"}
}

// notAPI is an answer of something else.
func (c *Client) notAPI(content string) error {
	return &Failure{What: fmt.Sprintf("%s sent %s", c.server, content), Do: "check that --server is the address of the gpu_view exporter"}
}

// refused is an answer that is not 200.
func (c *Client) refused(answer *http.Response) error {
	kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if kind == "application/problem+json" {
		data, err := io.ReadAll(io.LimitReader(answer.Body, maxProblemBytes))
		if err == nil {
			if f := problem(data, answer.StatusCode); f != nil {
				return f
			}
		}
	}
	f := &Failure{What: fmt.Sprintf("%s answered %s", c.server, http.StatusText(answer.StatusCode)), Status: answer.StatusCode}
	switch status := answer.StatusCode; {
	case status == http.StatusUnauthorized:
		f.What, f.Do = c.server.String()+" requires credentials, or rejects the credentials that were sent", "give --token-file, or --user and --password-file"
	case status == http.StatusForbidden:
		f.Do = "use credentials that are allowed to read, and a host name that the collector allows"
	case status >= 300 && status < 400:
		f.What, f.Do = c.server.String()+" redirects to another address, and otelgpu does not follow redirects", "give the final address with --server"
	case status == http.StatusNotFound:
		f.Do = "check that --server is the address of the gpu_view exporter"
	case status == http.StatusTooManyRequests, status >= 500:
		f.Do = "try again later; look at the collector's log if it happens again"
	default:
		f.What = fmt.Sprintf("%s answered %d", c.server, status)
		f.Do = "check that --server is the address of the gpu_view exporter"
	}
	return f
}

// problem reads an error of the API; nil if it is not one.
func problem(data []byte, status int) *Failure {
	var p view.Problem
	if json.Unmarshal(data, &p) != nil || p.Title == "" && p.Detail == "" {
		return nil
	}
	description := p.Title
	if p.Detail != "" && p.Detail != p.Title {
		description = strings.TrimPrefix(description+": "+p.Detail, ": ")
	}
	return &Failure{What: description, Do: p.Remedy, Status: status, Reasons: p.Reasons, Candidates: p.Nodes}
}
