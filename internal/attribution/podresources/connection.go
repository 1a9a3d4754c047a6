// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// maxMessage bounds an answer, in bytes, as the kubelet's own client does.
const maxMessage = 16 << 20

// connection is gRPC over a socket that is already connected. gRPC itself would log every failed attempt to connect and repeat it every
// few seconds while there is no kubelet.
type connection struct {
	grpc    *grpc.ClientConn
	api     podresourcesv1.PodResourcesListerClient
	started time.Time // when the socket was made

	mu     sync.Mutex
	socket net.Conn // until gRPC takes it
}

// dial connects to the socket at path.
func dial(ctx context.Context, path string) (*connection, error) {
	socket, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	c := &connection{socket: socket}
	if info, err := os.Stat(path); err == nil {
		c.started = info.ModTime()
	}
	c.grpc, err = grpc.NewClient("passthrough:kubelet",
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return c.take() }),
		grpc.WithTransportCredentials(insecure.NewCredentials()), // the permissions of a Unix socket's directory protect it
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0), // never
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	)
	if err != nil {
		_ = socket.Close()
		return nil, fmt.Errorf("pod_resources: connect to %s: %w", path, err)
	}
	c.api = podresourcesv1.NewPodResourcesListerClient(c.grpc)
	c.grpc.Connect()
	return c, nil
}

// take returns the socket, once.
func (c *connection) take() (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.socket == nil {
		return nil, net.ErrClosed
	}
	socket := c.socket
	c.socket = nil
	return socket, nil
}

// ready reports whether the connection is established.
func (c *connection) ready() bool { return c.grpc.GetState() == connectivity.Ready }

// sound reports whether the connection is established or being made. gRPC answers a call on a new connection before it changes its state.
func (c *connection) sound() bool {
	state := c.grpc.GetState()
	return state == connectivity.Ready || state == connectivity.Connecting
}

func (c *connection) close() error {
	err := c.grpc.Close()
	if socket, takeErr := c.take(); takeErr == nil {
		_ = socket.Close()
	}
	return err
}
