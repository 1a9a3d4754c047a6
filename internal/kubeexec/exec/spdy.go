// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/moby/spdystream"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
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

// readSPDY reads the three streams of an exec until the server has closed them, or the connection is closed.
func (o *Output) readSPDY(conn net.Conn) error {
	session, err := spdystream.NewConnection(closing{conn}, false)
	if err != nil {
		return err
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		session.Serve(spdystream.NoOpStreamHandler)
	}()
	defer func() {
		_ = conn.Close()
		<-served
	}()

	var errs [3]error
	var reading sync.WaitGroup
	for i, stream := range [...]struct {
		kind   string
		output *bounded
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
		if stream.output == &o.stdout {
			overflow = func() { _ = conn.Close() } // the rest would be dropped
		}
		reading.Go(func() {
			if errs[i] = accepted(opened, served); errs[i] == nil {
				errs[i] = stream.output.readFrom(opened, overflow)
			}
		})
	}
	reading.Wait()
	if o.stdout.truncated || len(o.status.data) > 0 {
		return nil
	}
	return errors.Join(append(errs[:], io.ErrUnexpectedEOF)...)
}

// closing is a connection whose Close returns no error. After an error, spdystream waits ten minutes for someone to fetch it.
type closing struct{ net.Conn }

// Close implements net.Conn.
func (c closing) Close() error {
	_ = c.Conn.Close()
	return nil
}

// accepted waits until the server has accepted a stream. spdystream blocks until the server's answer, or a reset, is read, so the wait
// lasts until the connection is no longer served.
func accepted(stream *spdystream.Stream, served <-chan struct{}) error {
	const look = 50 * time.Millisecond
	for {
		err := stream.WaitTimeout(look)
		if !errors.Is(err, spdystream.ErrTimeout) {
			return err
		}
		select {
		case <-served:
			return io.ErrUnexpectedEOF
		default:
		}
	}
}
