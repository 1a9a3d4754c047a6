// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// frames returns WebSocket messages of the server: the first byte of each is the number of its stream.
func frames(messages ...string) []byte {
	var b bytes.Buffer
	for _, message := range messages {
		b.Write([]byte{0x82, byte(len(message))})
		b.WriteString(message)
	}
	b.Write([]byte{0x88, 2, 0x03, 0xe8}) // closed normally
	return b.Bytes()
}

// Whatever an API server or a pod sends over a WebSocket, an exec ends with bounded output.
func FuzzWebSocket(f *testing.F) {
	f.Add(frames("\x01hello\n", "\x02oops", "\x03"+`{"status":"Success"}`))
	f.Add(frames("\x01", "\x07x"))
	f.Add([]byte{0x02, 0x7f, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		client, server := net.Pipe()
		defer func() { _ = client.Close() }()
		served := make(chan struct{})
		go func() {
			defer close(served)
			serveWebSocket(server, data)
		}()
		target := &url.URL{Scheme: "ws", Host: "h", Path: "/"}
		conn, response, err := websocket.NewClient(client, target, http.Header{}, 1024, 1024) //nolint:staticcheck // it takes a connection
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		out := newOutput()
		err = out.readWebSocket(conn)
		requireBounded(t, out)
		_, statusErr := exitCode(out.status.data)
		if err == nil && statusErr == nil && len(out.status.data) == 0 {
			t.Fatal("an exit code without a status")
		}
		_ = client.Close()
		<-served
	})
}

// serveWebSocket upgrades a connection, sends the data and closes it.
func serveWebSocket(conn net.Conn, data []byte) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReader(conn)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	sum := sha1.Sum([]byte(request.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\nSec-WebSocket-Protocol: "+remotecommand.StreamProtocolV5Name+"\r\n\r\n")
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, reader)
	}()
	_, _ = conn.Write(data)
	_ = conn.Close()
	<-drained
}

// The same over SPDY.
func FuzzSPDY(f *testing.F) {
	reply := func(stream byte) []byte { // SYN_REPLY, with no headers
		return []byte{0x80, 0x03, 0, 2, 0, 0, 0, 4, 0, 0, 0, stream}
	}
	var session []byte
	for stream := byte(1); stream <= 5; stream += 2 {
		session = append(session, reply(stream)...)
	}
	f.Add(append(session, 0, 0, 0, 3, 1, 0, 0, 2, 'h', 'i', 0, 0, 0, 1, 1, 0, 0, 2, '{', '}', 0, 0, 0, 5, 1, 0, 0, 0))
	f.Add([]byte{0x80, 0x03, 0, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}) // GOAWAY
	f.Add([]byte("HTTP/1.1 500\r\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		client, server := net.Pipe()
		served := make(chan struct{})
		go func() {
			defer close(served)
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, server)
			}()
			_, _ = server.Write(data)
			_ = server.Close()
			<-drained
		}()
		start, out := time.Now(), newOutput()
		_ = out.readSPDY(client)
		requireBounded(t, out)
		if took := time.Since(start); took > 5*time.Minute { // spdystream itself may wait for ten
			t.Fatalf("it took %s to notice the end", took)
		}
		_ = client.Close()
		<-served
	})
}

func requireBounded(t *testing.T, out *Output) {
	t.Helper()
	for _, b := range []*bounded{&out.stdout, &out.stderr, &out.status} {
		if len(b.data) > b.limit || cap(b.data) > b.limit {
			t.Fatalf("%d bytes of at most %d", cap(b.data), b.limit)
		}
	}
}

// The status of a command and the refusal of a server may be anything.
func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"status":"Success"}`), "7")
	f.Add([]byte(`{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"3"}]}}`), "")
	f.Add([]byte(`{"kind":"Status","code":429,"message":"slow","details":{"retryAfterSeconds":9223372036854775807}}`), "-1")
	f.Fuzz(func(t *testing.T, data []byte, retryAfter string) {
		if code, err := exitCode(data); err == nil && (code < 0 || code > 255) {
			t.Fatalf("exit code %d", code)
		}
		response := &http.Response{StatusCode: http.StatusTooManyRequests, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(data))}
		response.Header.Set("Retry-After", retryAfter)
		r := refused(response)
		if r.RetryAfter < 0 || r.RetryAfter > maxRetryAfter {
			t.Fatalf("a pause of %s", r.RetryAfter)
		}
		if wait, ok := Throttled(failed(Container{}, false, r)); !ok || wait <= 0 || wait > maxRetryAfter {
			t.Fatalf("a pause of %s", wait)
		}
	})
}
