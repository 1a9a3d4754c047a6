// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/moby/spdystream"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// spdyUpgrade upgrades a request to SPDY, for API servers that do not serve a WebSocket.
type spdyUpgrade struct {
	dialer *dialer
	conn   net.Conn
}

// RoundTrip implements http.RoundTripper, so that client-go can put the credentials on the request.
func (s *spdyUpgrade) RoundTrip(request *http.Request) (*http.Response, error) {
	conn, err := s.dialer.dial(request.Context(), request.URL)
	if err != nil {
		return nil, err
	}
	request = request.Clone(request.Context())
	request.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	request.Header.Set(httpstream.HeaderUpgrade, "SPDY/3.1")
	if err := request.Write(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	s.conn = &buffered{Conn: conn, reader: reader}
	return response, nil
}

// overSPDY runs a request for an exec over SPDY.
func (e *execer) overSPDY(ctx context.Context, target *url.URL, out *output) error {
	base := &spdyUpgrade{dialer: e.dialer}
	header := http.Header{}
	header.Add(httpstream.HeaderProtocolVersion, remotecommand.StreamProtocolV5Name)
	header.Add(httpstream.HeaderProtocolVersion, remotecommand.StreamProtocolV4Name)
	response, err := e.upgrade(ctx, http.MethodPost, target, header, base)
	if err != nil {
		return err
	}
	// Closing the connection is all: spdystream's own Close would leave goroutines behind that wait for the other side.
	defer func() { _ = base.conn.Close() }()
	if response.StatusCode != http.StatusSwitchingProtocols {
		return refused(response)
	}
	switch p := response.Header.Get(httpstream.HeaderProtocolVersion); p {
	case remotecommand.StreamProtocolV5Name, remotecommand.StreamProtocolV4Name:
	default:
		return fmt.Errorf("the server chose the protocol %q", p)
	}
	out.began = true
	return out.readSPDY(base.conn)
}

// readSPDY reads the three streams of an exec until the server has closed them.
func (o *output) readSPDY(conn net.Conn) error {
	session, err := spdystream.NewConnection(conn, false)
	if err != nil {
		return err
	}
	var served, reading sync.WaitGroup
	served.Go(func() { session.Serve(spdystream.NoOpStreamHandler) })
	defer served.Wait()
	defer func() { _ = conn.Close() }()

	var errs [3]error
	for i, stream := range [...]struct {
		kind string
		to   *bounded
	}{
		{corev1.StreamTypeError, &o.status},
		{corev1.StreamTypeStdout, &o.stdout},
		{corev1.StreamTypeStderr, &o.stderr},
	} {
		header := http.Header{}
		header.Set(corev1.StreamType, stream.kind)
		opened, err := session.CreateStream(header, nil, false)
		if err != nil {
			_ = conn.Close()
			reading.Wait()
			return fmt.Errorf("open the stream %s: %w", stream.kind, err)
		}
		overflow := nothing
		if stream.to == &o.stdout {
			overflow = func() { _ = conn.Close() } // nothing more is kept, so nothing more need come
		}
		reading.Go(func() { errs[i] = stream.to.readFrom(opened, overflow) })
	}
	reading.Wait()
	if o.stdout.truncated || len(o.status.data) > 0 {
		return nil
	}
	return errors.Join(append(errs[:], io.ErrUnexpectedEOF)...)
}
