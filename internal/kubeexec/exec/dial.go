// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/net/proxy"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// dialer connects to the API server of one cluster. A connection is closed when the context of its dial ends, whatever waits on
// it: a frozen API server must not block longer.
type dialer struct {
	config *rest.Config
	proxy  func(*http.Request) (*url.URL, error)
	now    func() time.Time

	mu      sync.Mutex
	tls     *tls.Config
	tlsRead time.Time
}

// tlsKeep is how long the TLS configuration is used before its files are read again.
const tlsKeep = 5 * time.Minute

func newDialer(config *rest.Config) *dialer {
	d := &dialer{config: config, proxy: config.Proxy, now: time.Now}
	if d.proxy == nil {
		d.proxy = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	return d
}

// tlsConfig returns the TLS configuration. Connections share it so that all except the first resume a session, which costs both
// sides little.
func (d *dialer) tlsConfig() (*tls.Config, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if d.tls != nil && now.Sub(d.tlsRead) < tlsKeep {
		return d.tls, nil
	}
	config, err := rest.TLSConfigFor(d.config)
	if err != nil {
		return nil, err
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config = config.Clone()
	config.NextProtos = []string{"http/1.1"} // HTTP/2 has no upgrade to SPDY
	config.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	d.tls, d.tlsRead = config, now
	return config, nil
}

// dial connects to the host of an https or http URL, through a proxy if one is configured for it.
func (d *dialer) dial(ctx context.Context, target *url.URL) (net.Conn, error) {
	through, err := d.proxy(&http.Request{Method: http.MethodGet, URL: target, Header: http.Header{}})
	if err != nil {
		return nil, fmt.Errorf("find the proxy: %w", err)
	}
	address := hostPort(target)
	var conn net.Conn
	switch {
	case through == nil:
		conn, err = dialTCP(ctx, "tcp", address)
	case through.Scheme == "socks5" || through.Scheme == "socks5h":
		conn, err = d.dialSOCKS(ctx, through, address)
	case through.Scheme == "http" || through.Scheme == "https":
		conn, err = d.dialConnect(ctx, through, address)
	default:
		err = fmt.Errorf("a proxy of the kind %q is not supported; use http, https, socks5 or socks5h", through.Scheme)
	}
	if err != nil {
		return nil, err
	}
	if target.Scheme != "https" {
		return conn, nil
	}
	config, err := d.tlsConfig()
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return startTLS(ctx, conn, config, target.Hostname())
}

func dialTCP(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, nil
}

func startTLS(ctx context.Context, conn net.Conn, config *tls.Config, host string) (net.Conn, error) {
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName = host
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

func (*dialer) dialSOCKS(ctx context.Context, through *url.URL, address string) (net.Conn, error) {
	var auth *proxy.Auth
	if through.User != nil {
		password, _ := through.User.Password()
		auth = &proxy.Auth{User: through.User.Username(), Password: password}
	}
	socks, err := proxy.SOCKS5("tcp", hostPort(through), auth, forward(dialTCP))
	if err != nil {
		return nil, err
	}
	return socks.(proxy.ContextDialer).DialContext(ctx, "tcp", address) // the dialer of SOCKS5 implements it
}

// forward is the dialer by which a SOCKS dialer reaches its proxy.
type forward func(ctx context.Context, network, address string) (net.Conn, error)

func (f forward) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return f(ctx, network, address)
}

func (f forward) Dial(network, address string) (net.Conn, error) {
	return f(context.Background(), network, address)
}

// dialConnect connects through an HTTP proxy.
func (d *dialer) dialConnect(ctx context.Context, through *url.URL, address string) (net.Conn, error) {
	conn, err := dialTCP(ctx, "tcp", hostPort(through))
	if err != nil {
		return nil, fmt.Errorf("proxy %s: %w", through.Redacted(), err)
	}
	if through.Scheme == "https" {
		// By the system's certificates: the cluster's do not apply to the proxy.
		if conn, err = startTLS(ctx, conn, &tls.Config{MinVersion: tls.VersionTLS12}, through.Hostname()); err != nil {
			return nil, fmt.Errorf("proxy %s: %w", through.Redacted(), err)
		}
	}
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if user := through.User; user != nil {
		password, _ := user.Password()
		basic := &http.Request{Header: http.Header{}}
		basic.SetBasicAuth(user.Username(), password)
		request.Header.Set("Proxy-Authorization", basic.Header.Get("Authorization"))
	}
	if err := request.Write(conn); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("proxy %s: %w", through.Redacted(), err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("proxy %s: %w", through.Redacted(), err)
	}
	if response.StatusCode != http.StatusOK {
		_ = conn.Close()
		return nil, fmt.Errorf("proxy %s: CONNECT %s: %s", through.Redacted(), address, response.Status)
	}
	return &buffered{Conn: conn, reader: reader}, nil
}

// buffered is a connection whose beginning was already read into a buffer.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

func (b *buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

func hostPort(u *url.URL) string {
	if port := u.Port(); port != "" {
		return net.JoinHostPort(u.Hostname(), port)
	}
	switch u.Scheme {
	case "https":
		return net.JoinHostPort(u.Hostname(), "443")
	case "socks5", "socks5h":
		return net.JoinHostPort(u.Hostname(), "1080")
	default:
		return net.JoinHostPort(u.Hostname(), "80")
	}
}
