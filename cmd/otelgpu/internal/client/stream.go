// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"time"
)

const (
	// maxLineBytes is the longest line of the stream.
	maxLineBytes = 64 << 10
	// silence is how long a stream may send nothing: the server sends a comment every 15 s.
	silence = 45 * time.Second
)

// errSilent is a stream that sends nothing.
var errSilent = errors.New("the server sent nothing for 45 s")

// Stream calls changed for every change that the server sends, and once when the stream has begun. It returns when the stream ends.
func (c *Client) Stream(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// The same clock bounds the beginning and every pause.
	watchdog := time.AfterFunc(c.timeout, func() { cancel(errSilent) })
	defer watchdog.Stop()
	answer, err := c.get(ctx, stream, nil, "text/event-stream")
	if err != nil {
		return c.cause(ctx, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind != "text/event-stream" {
		return c.notAPI(fmt.Sprintf("%q and no stream", kind))
	}
	changed()
	watchdog.Reset(silence)
	err = events(answer.Body, func() { watchdog.Reset(silence) }, changed)
	return c.cause(ctx, c.broken(err))
}

// cause returns why the stream was ended, if this program ended it.
func (c *Client) cause(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return &Failure{What: fmt.Sprintf("%s: %v", c.server, errSilent), Do: "check the network"}
	}
	return err
}

// events reads server-sent events. The data is not needed: every event is a change. It always returns an error.
func events(source io.Reader, alive, changed func()) error {
	lines := bufio.NewScanner(source)
	lines.Buffer(make([]byte, 4096), maxLineBytes)
	event := false
	for lines.Scan() {
		alive()
		switch line := lines.Bytes(); {
		case len(line) == 0 && event:
			changed()
			event = false
		case len(line) > 4 && string(line[:5]) == "data:":
			event = true
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}
