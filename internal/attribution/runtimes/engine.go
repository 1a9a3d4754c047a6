// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package runtimes

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"strings"
)

// engine asks the API of Docker, or Podman's that is compatible with it, on a Unix socket. It only ever asks for one container.
type engine struct {
	runtime, path string
	client        *http.Client
}

// newEngine returns nil without an endpoint.
func newEngine(runtime, endpoint string) *engine {
	if endpoint == "" {
		return nil
	}
	path := strings.TrimPrefix(endpoint, "unix://")
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives:      true, // containers are queried once
		MaxResponseHeaderBytes: 64 << 10,
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &engine{runtime: runtime, path: path, client: &http.Client{Transport: transport, CheckRedirect: noRedirect}}
}

func (e *engine) places() []string {
	if e == nil {
		return nil
	}
	return []string{e.path}
}

// find returns nil if the engine does not know the container.
func (e *engine) find(ctx context.Context, id string) (*Description, error) {
	found, err := e.ask(ctx, id)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			err = errors.New("permission denied: run as root, or in the socket's group")
		}
		return nil, fmt.Errorf("%s: ask %s for a container: %w", e.runtime, e.path, err)
	}
	return found, nil
}

func (e *engine) ask(ctx context.Context, id string) (*Description, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/containers/"+id+"/json", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, errors.Unwrap(err) // without the address, which is another for each container
	}
	defer func() { _ = response.Body.Close() }()
	switch response.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, nil
	default:
		return nil, fmt.Errorf("it answers %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxContainer+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxContainer {
		return nil, fmt.Errorf("the answer is longer than %d bytes", maxContainer)
	}
	found, err := parseContainer(data, id)
	if err != nil {
		return nil, err
	}
	found.Runtime = e.runtime
	return found, nil
}
