// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exectest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"github.com/moby/spdystream"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

func (s *Server) serveExec(w http.ResponseWriter, r *http.Request, pod string) {
	s.mu.Lock()
	s.Requests[r.Method]++
	if r.TLS.DidResume {
		s.Resumed++
	}
	behaviour := s.Exec
	throttle := s.Exec.Throttle > 0
	if throttle {
		s.Exec.Throttle--
	}
	b := s.Boxes[pod]
	s.mu.Unlock()
	if behaviour.Freeze != nil {
		select {
		case <-behaviour.Freeze:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case throttle:
		if behaviour.RetryAfter != "" {
			w.Header().Set("Retry-After", behaviour.RetryAfter)
		}
		fail(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "too many requests")
	case r.Method == http.MethodGet && (behaviour.DenyGet || behaviour.DenyCreate): // a WebSocket needs both
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "driver" is forbidden: cannot get resource "pods/exec"`)
	case r.Method == http.MethodPost && behaviour.DenyCreate:
		fail(w, http.StatusForbidden, metav1.StatusReasonForbidden, `pods "driver" is forbidden: cannot create resource "pods/exec"`)
	case r.URL.Query().Get("stdout") != "true" || r.URL.Query().Get("stderr") != "true":
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "one of them would not be sent")
	case b == nil:
		fail(w, http.StatusNotFound, metav1.StatusReasonNotFound, `pods "`+pod+`" not found`)
	case r.Method == http.MethodGet && behaviour.NoWebSocket:
		fail(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, "Upgrade request required")
	case r.Method == http.MethodGet:
		s.overWebSocket(w, r, b)
	default:
		s.overSPDY(w, r, b)
	}
}

// Status is what the server sends at the end of a command.
func Status(code int, start error) []byte {
	st := metav1.Status{Status: metav1.StatusSuccess}
	switch {
	case start != nil:
		st = metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError, Message: start.Error()}
	case code != 0:
		st = metav1.Status{
			Status: metav1.StatusFailure, Reason: remotecommand.NonZeroExitCodeReason, Message: "command terminated with non-zero exit code",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: remotecommand.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
		}
	}
	data, err := json.Marshal(st)
	if err != nil {
		panic(err)
	}
	return data
}

type channelWriter struct {
	conn    *websocket.Conn
	mu      *sync.Mutex
	channel byte
}

// Write implements io.Writer.
func (c channelWriter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(p), c.conn.WriteMessage(websocket.BinaryMessage, append([]byte{c.channel}, p...))
}

func (s *Server) overWebSocket(w http.ResponseWriter, r *http.Request, b Box) {
	upgrader := websocket.Upgrader{Subprotocols: []string{remotecommand.StreamProtocolV5Name}}
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, _, err := conn.NextReader(); err != nil {
				return
			}
		}
	}()
	var mu sync.Mutex
	writer := func(channel byte) channelWriter { return channelWriter{conn: conn, mu: &mu, channel: channel} }
	code, start := b(r.URL.Query()["command"], writer(remotecommand.StreamStdOut), writer(remotecommand.StreamStdErr), done)
	_, _ = writer(remotecommand.StreamErr).Write(Status(code, start))
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Time{})
	<-done // the client closes
}

// closing is a connection that closes without an error. After one, spdystream would wait ten minutes for someone to ask for it.
type closing struct{ net.Conn }

// Close implements net.Conn.
func (c closing) Close() error {
	_ = c.Conn.Close()
	return nil
}

// hijacker returns connections that close without an error.
type hijacker struct{ http.ResponseWriter }

// Hijack implements http.Hijacker.
func (h hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := h.ResponseWriter.(http.Hijacker).Hijack()
	return closing{conn}, rw, err
}

func (s *Server) overSPDY(w http.ResponseWriter, r *http.Request, b Box) {
	if _, err := httpstream.Handshake(r, w, []string{remotecommand.StreamProtocolV4Name}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 3)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(hijacker{w}, r, func(stream httpstream.Stream, _ <-chan struct{}) error {
		// Accepted before anything is written: if the client has gone in between, a write would wait for that for good.
		if err := stream.(*spdystream.Stream).SendReply(http.Header{}, false); err != nil {
			return err
		}
		streams <- stream
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { _ = conn.Close() }()
	writers := map[string]io.WriteCloser{}
	for range 3 {
		select {
		case stream := <-streams:
			writers[stream.Headers().Get(corev1.StreamType)] = stream
		case <-conn.CloseChan():
			return
		}
	}
	done := make(chan struct{})
	go func() { <-conn.CloseChan(); close(done) }()
	code, start := b(r.URL.Query()["command"], writers[corev1.StreamTypeStdout], writers[corev1.StreamTypeStderr], done)
	_, _ = writers[corev1.StreamTypeError].Write(Status(code, start))
	for _, stream := range writers {
		_ = stream.Close()
	}
	<-done // the client closes
}

// NotStarted is the error of containerd for a program that a container does not have.
func NotStarted(program string) error {
	return fmt.Errorf(`error executing command in container: failed to exec in container: failed to start exec "0": `+
		`OCI runtime exec failed: exec failed: unable to start container process: %w`,
		errors.New(`exec: "`+program+`": executable file not found in $PATH: unknown`))
}
