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

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
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
	// redialWait bounds the wait for a new connection, where the kubelet has been restarted.
	redialWait = 500 * time.Millisecond
	redialStep = 10 * time.Millisecond
)

// Client keeps one connection to the kubelet, and makes a new one when the kubelet was restarted.
type Client struct {
	path string
	conn *grpc.ClientConn
	api  podresourcesv1.PodResourcesListerClient

	mu      sync.Mutex
	dials   int   // attempts to connect that have come to an end
	dialErr error // of the last one
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
	c := &Client{path: path}
	c.conn, err = grpc.NewClient("passthrough:kubelet",
		grpc.WithContextDialer(c.dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // a Unix socket: its directory's permissions protect it
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
			MinConnectTimeout: time.Second,
		}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	if err != nil {
		return nil, fmt.Errorf("podresources: connect to %s: %w", path, err)
	}
	c.api = podresourcesv1.NewPodResourcesListerClient(c.conn)
	return c, nil
}

// dial connects, and keeps the error: gRPC passes on no more than its text.
func (c *Client) dial(ctx context.Context, _ string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.path)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dials++
	c.dialErr = err
	return conn, err
}

// List returns every device that is allocated to a container of this node.
func (c *Client) List(ctx context.Context) ([]Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err := c.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	if status.Code(err) == codes.Unavailable && c.redial(ctx) {
		response, err = c.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	}
	if err != nil {
		return nil, c.explain(err)
	}
	return allocations(response), nil
}

// redial makes a new connection at once, whatever gRPC's own back-off says, and tells whether there is one.
func (c *Client) redial(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, redialWait)
	defer cancel()
	before, _ := c.dialed()
	c.conn.ResetConnectBackoff()
	c.conn.Connect()
	for ctx.Err() == nil {
		state := c.conn.GetState()
		switch state {
		case connectivity.Ready:
			return true
		case connectivity.Shutdown:
			return false
		case connectivity.TransientFailure:
			if dials, _ := c.dialed(); dials > before {
				return false
			}
		case connectivity.Idle:
			c.conn.Connect()
		case connectivity.Connecting:
		}
		// In steps: an attempt that fails at once may go by unseen.
		step, stop := context.WithTimeout(ctx, redialStep)
		c.conn.WaitForStateChange(step, state)
		stop()
	}
	return false
}

// dialed tells how many attempts to connect have come to an end, and how the last one did.
func (c *Client) dialed() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dials, c.dialErr
}

// explain says what was attempted, on what, and what to do.
func (c *Client) explain(err error) error {
	_, dialErr := c.dialed()
	if status.Code(err) == codes.Unavailable && dialErr != nil {
		err = dialErr
	}
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
func (c *Client) Close() error { return c.conn.Close() }
