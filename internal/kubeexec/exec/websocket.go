// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/gorilla/websocket"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// webSocket upgrades a request to a WebSocket.
type webSocket struct {
	dialer *dialer
	conn   *websocket.Conn
}

// RoundTrip implements http.RoundTripper, so that client-go can put the credentials on the request.
func (w *webSocket) RoundTrip(request *http.Request) (*http.Response, error) {
	target := *request.URL
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return w.dialer.dial(ctx, request.URL) }
	upgrade := websocket.Dialer{
		NetDialContext:    dial,
		NetDialTLSContext: dial,
		ReadBufferSize:    16 << 10,
		WriteBufferSize:   1 << 10, // only control frames are written
		// Version 5 only, as kubectl does: older API servers pass a WebSocket on to container runtimes that close it early.
		Subprotocols: []string{remotecommand.StreamProtocolV5Name},
	}
	target.Scheme = map[string]string{"https": "wss", "http": "ws"}[target.Scheme]
	conn, response, err := upgrade.DialContext(request.Context(), target.String(), request.Header)
	if errors.Is(err, websocket.ErrBadHandshake) && response != nil {
		return response, nil // its body has the reason
	}
	if err != nil {
		return nil, err
	}
	w.conn = conn
	return response, nil
}

// readWebSocket reads until the server closes the connection. The first byte of each message is the number of its stream.
func (o *Output) readWebSocket(conn *websocket.Conn) error {
	var channel [1]byte
	for {
		_, message, err := conn.NextReader()
		if err != nil {
			var closed *websocket.CloseError
			if errors.As(err, &closed) && closed.Code == websocket.CloseNormalClosure || len(o.status.data) > 0 {
				return nil
			}
			return fmt.Errorf("the connection ended: %w", err)
		}
		if _, err := io.ReadFull(message, channel[:]); err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		var output *bounded
		switch channel[0] {
		case remotecommand.StreamStdOut:
			output = &o.stdout
		case remotecommand.StreamStdErr:
			output = &o.stderr
		case remotecommand.StreamErr:
			output = &o.status
		default:
			continue
		}
		if err := output.readFrom(message, nothing); err != nil {
			return fmt.Errorf("read a message: %w", err)
		}
		if o.stdout.truncated {
			return nil
		}
	}
}
