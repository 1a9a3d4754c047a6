// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package podresources reads from the kubelet which devices it has allocated to which container, through its PodResources API.
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

// DefaultEndpoint is the socket of the kubelet, unless its root directory was moved.
const DefaultEndpoint = "unix:///var/lib/kubelet/pod-resources/kubelet.sock"

// defaultTimeout bounds one call, within the caller's own bound.
const defaultTimeout = 2 * time.Second

// Client keeps one connection to the kubelet and makes a new one when the kubelet was restarted. List must not be called concurrently.
type Client struct {
	// Timeout bounds a List.
	Timeout time.Duration

	path string

	mu          sync.Mutex
	conn        *connection // nil if not connected
	connections uint64      // number of connections so far
	closed      bool
}

// Answer is the kubelet's answer.
type Answer struct {
	Allocations []Allocation
	// Pods is how many pods the kubelet knows, with and without devices.
	Pods int
	// Connection is the number of the connection, from 1. A new connection may be to a restarted kubelet.
	Connection uint64
	// Started is when the kubelet made its socket, as it does when it starts; zero if that is unknown.
	Started time.Time
}

// SocketPath returns the path of an endpoint, which is unix:// and an absolute path.
func SocketPath(endpoint string) (string, error) {
	path, ok := strings.CutPrefix(endpoint, "unix://")
	if !ok || !strings.HasPrefix(path, "/") {
		return "", fmt.Errorf("%q is not a Unix socket; name it like %s", endpoint, DefaultEndpoint)
	}
	return path, nil
}

// New returns a client of the kubelet at endpoint. It does not connect yet.
func New(endpoint string) (*Client, error) {
	path, err := SocketPath(endpoint)
	if err != nil {
		return nil, fmt.Errorf("pod_resources: %w", err)
	}
	return &Client{path: path, Timeout: defaultTimeout}, nil
}

// List returns every device that is allocated to a container of this node.
func (c *Client) List(ctx context.Context) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	answer, err := c.list(ctx)
	if status.Code(err) == codes.Unavailable {
		answer, err = c.list(ctx) // the connection broke
	}
	if err != nil {
		return Answer{}, c.explain(err)
	}
	return answer, nil
}

func (c *Client) list(ctx context.Context) (Answer, error) {
	conn, number, err := c.connect(ctx)
	if err != nil {
		return Answer{}, err
	}
	response, err := conn.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		if status.Code(err) == codes.Unavailable || !conn.ready() {
			c.drop(conn)
		}
		return Answer{}, err
	}
	return Answer{Allocations: allocations(response), Pods: len(response.GetPodResources()), Connection: number, Started: conn.started}, nil
}

// connect returns the connection and its number, a new one if the last is broken.
func (c *Client) connect(ctx context.Context) (*connection, uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, 0, net.ErrClosed
	case c.conn != nil && c.conn.sound():
		return c.conn, c.connections, nil
	case c.conn != nil:
		_ = c.conn.close()
		c.conn = nil
	}
	conn, err := dial(ctx, c.path)
	if err != nil {
		return nil, 0, err
	}
	c.conn = conn
	c.connections++
	return conn, c.connections, nil
}

func (c *Client) drop(conn *connection) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		_ = conn.close()
		c.conn = nil
	}
}

// explain adds to an error what was attempted and what to do.
func (c *Client) explain(err error) error {
	var hint string
	switch {
	case errors.Is(err, fs.ErrNotExist):
		hint = "mount the kubelet's directory pod-resources there, or set pod_resources::endpoint to its socket"
	case errors.Is(err, fs.ErrPermission):
		hint = "run as user 0 (no capability is needed): only root may read the kubelet's directory"
	case errors.Is(err, syscall.ECONNREFUSED):
		hint = "the kubelet is not running"
	case status.Code(err) == codes.DeadlineExceeded, errors.Is(err, context.DeadlineExceeded): // of a call, of the connecting
		hint = "the kubelet did not answer in time"
	case status.Code(err) == codes.Unimplemented:
		hint = "the kubelet lacks v1 of the API, which Kubernetes 1.20 introduced"
	case status.Code(err) == codes.ResourceExhausted:
		hint = "the kubelet limits the calls per second of all its clients together, or its answer is longer than 16 MiB"
	default:
		return fmt.Errorf("pod_resources: list the allocated devices from %s: %w", c.path, err)
	}
	return fmt.Errorf("pod_resources: list the allocated devices from %s: %w; %s", c.path, err, hint)
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
