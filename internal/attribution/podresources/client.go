// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package podresources asks the kubelet which devices it has allocated to which container, through its PodResources API.
package podresources

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// DefaultEndpoint is where the kubelet listens, unless its root directory was moved.
const DefaultEndpoint = "unix:///var/lib/kubelet/pod-resources/kubelet.sock"

const (
	// maxMessage is the bound that the kubelet's own client has (16 MiB).
	maxMessage = 16 << 20
	// timeout bounds one call, within the caller's own bound.
	timeout = 2 * time.Second
)

// Client keeps one connection to the kubelet, and makes a new one when the kubelet was restarted. List is for one caller
// at a time.
type Client struct {
	path string

	mu     sync.Mutex
	conn   *connection // nil where there is none
	made   uint64      // connections so far
	closed bool
}

// Answer is what the kubelet says.
type Answer struct {
	Allocations []Allocation
	// Pods is how many pods the kubelet knows of, with and without devices.
	Pods int
	// Connection numbers the connections from 1 on: where it is another one than before, so may be the kubelet.
	Connection uint64
	// Started is when the kubelet made its socket, as it does when it starts; zero where that cannot be told.
	Started time.Time
}

// SocketPath returns the path of an endpoint, which is unix:// and an absolute path.
func SocketPath(endpoint string) (string, error) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q is no Unix socket; it is to look like %s", endpoint, DefaultEndpoint)
	}
	return path, nil
}

// New returns a client of the kubelet at endpoint. It does not connect yet.
func New(endpoint string) (*Client, error) {
	path, err := SocketPath(endpoint)
	if err != nil {
		return nil, fmt.Errorf("podresources: %w", err)
	}
	return &Client{path: path}, nil
}

// List returns every device that is allocated to a container of this node.
func (c *Client) List(ctx context.Context) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	answer, err := c.ask(ctx)
	if status.Code(err) == codes.Unavailable {
		answer, err = c.ask(ctx) // the connection broke
	}
	if err != nil {
		return Answer{}, c.explain(err)
	}
	return answer, nil
}

func (c *Client) ask(ctx context.Context) (Answer, error) {
	conn, number, err := c.connect(ctx)
	if err != nil {
		return Answer{}, err
	}
	response, err := conn.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		if status.Code(err) == codes.Unavailable || !conn.sound() {
			c.drop(conn)
		}
		return Answer{}, err
	}
	return Answer{Allocations: allocations(response), Pods: len(response.GetPodResources()), Connection: number, Started: conn.started}, nil
}

// connect returns the connection that is kept, or a new one where it is broken.
func (c *Client) connect(ctx context.Context) (*connection, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, 0, net.ErrClosed
	case c.conn != nil && c.conn.sound():
		return c.conn, c.made, nil
	case c.conn != nil:
		_ = c.conn.close()
		c.conn = nil
	}
	conn, err := dial(ctx, c.path)
	if err != nil {
		return nil, 0, err
	}
	c.conn = conn
	c.made++
	return conn, c.made, nil
}

func (c *Client) drop(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		_ = conn.close()
		c.conn = nil
	}
}

// explain says what was attempted, on what, and what to do.
func (c *Client) explain(err error) error {
	var hint string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "mount the kubelet's directory pod-resources there, or name its socket as pod_resources::endpoint"
	case errors.Is(err, fs.ErrPermission):
		hint = "run as user 0, which needs no capability for it: the kubelet's directory is open to root alone"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "the kubelet is not running"
	case status.Code(err) == codes.DeadlineExceeded:
		hint = "the kubelet did not answer in time"
	case status.Code(err) == codes.Unimplemented:
		hint = "the kubelet is too old to have v1 of the API, which came with Kubernetes 1.20"
	case status.Code(err) == codes.ResourceExhausted:
		hint = "the kubelet answers only so many calls a second, to all who ask; or its answer is longer than 16 MiB"
	default:
		return fmt.Errorf("podresources: list the allocated devices from %s: %w", c.path, err)
	}
	return fmt.Errorf("podresources: list the allocated devices from %s: %w; %s", c.path, err, hint)
}

// Close closes the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.conn == nil {
		return nil
	}
	err := c.conn.close()
	c.conn = nil
	return err
}
