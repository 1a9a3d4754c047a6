// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/confignet"
	"golang.org/x/net/netutil"
)

const (
	// maxHeaderBytes bounds the header of a request. A browser's has some 1 KB, a token some KB more.
	maxHeaderBytes = 16 << 10
	// maxStreams bounds the requests of one HTTP/2 connection at a time.
	maxStreams = 32
	// lastAnswers is how long answers that are being written may take at the end.
	lastAnswers = time.Second
)

// server is the HTTP server of an instance.
type server struct {
	http     *http.Server
	listener net.Listener
	scheme   string
	loopback bool               // only programs of this machine can connect
	last     time.Duration      // lastAnswers, except in tests
	end      context.CancelFunc // ends every request, streams too
	done     chan struct{}      // closed when the server has ended
}

// listen opens the listener. Nothing is answered before serve.
func listen(ctx context.Context, cfg *Config, host component.Host, telemetry component.TelemetrySettings, handler http.Handler) (*server, error) {
	s := &server{scheme: "http", last: lastAnswers, done: make(chan struct{})}
	refuse := refusal(cfg)
	var err error
	if s.http, err = cfg.Server.ToServer(ctx, host.GetExtensions(), telemetry, limitRequests(handler, cfg.MaxRequests),
		confighttp.WithErrorHandler(refuse)); err != nil {
		return nil, err
	}
	var secure *tls.Config
	if cfg.Server.TLS.HasValue() {
		if secure, err = cfg.Server.TLS.Get().LoadTLSConfig(ctx); err != nil {
			return nil, fmt.Errorf("tls: %w", err)
		}
		secure.NextProtos = []string{"h2", "http/1.1"}
	}
	if cfg.Server.NetAddr.Transport == confignet.TransportTypeUnix {
		removeUnusedSocket(cfg.Server.NetAddr.Endpoint)
	}
	if s.listener, err = cfg.Server.NetAddr.Listen(ctx); err != nil {
		return nil, fmt.Errorf("listen on %s: %w; %s", cfg.Server.NetAddr.Endpoint, err, remedy(cfg.Server.NetAddr.Endpoint, err))
	}
	s.loopback = local(s.listener.Addr())
	s.listener = &fairListener{Listener: s.listener, limit: cfg.MaxConnectionsPerAddress, open: map[netip.Addr]int{}}
	// Below TLS: the server itself must see the TLS connection, for HTTP/2 and for the deadline of its handshake.
	s.listener = netutil.LimitListener(s.listener, cfg.MaxConnections)
	if secure != nil {
		s.scheme, s.listener = "https", tls.NewListener(s.listener, secure)
	}
	if asksForPassword(cfg) {
		s.http.Handler = withPassword(refuse, s.http.Handler)
	}
	s.http.Handler = newGuard(cfg, s.loopback, s.http.Handler)
	s.http.MaxHeaderBytes = maxHeaderBytes
	s.http.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	var requests context.Context
	requests, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.http.BaseContext = func(net.Listener) context.Context { return requests }
	return s, nil
}

// removeUnusedSocket removes the socket that a killed collector has left. A socket on which a program listens stays, and so does any other file.
func removeUnusedSocket(path string) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		_ = os.Remove(path) // if it stays, the listener says so
	}
}

// remedy returns what to do about an endpoint on which the server cannot listen.
func remedy(endpoint string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("create the directory %s, or set another endpoint", filepath.Dir(endpoint))
	case errors.Is(err, fs.ErrPermission):
		return "give the collector's user permission to listen there, or set another endpoint"
	default:
		return "stop the program that listens there, such as another collector, or set another endpoint"
	}
}

// serve answers requests until close. An unexpected end is reported.
func (s *server) serve(report func(error)) {
	go func() {
		defer close(s.done)
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			report(err)
		}
	}()
}

// close ends the server. Streams end immediately; other responses get a moment to finish.
func (s *server) close() {
	s.end()
	ctx, cancel := context.WithTimeout(context.Background(), s.last)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close() // half requests and slow readers
	}
	<-s.done
}

// url is the address of the page for a browser.
func (s *server) url() string {
	address := s.listener.Addr()
	if address.Network() == "unix" {
		return address.String()
	}
	return s.scheme + "://" + address.String() + "/"
}

// local reports whether only programs of this machine can connect to the address.
func local(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}
