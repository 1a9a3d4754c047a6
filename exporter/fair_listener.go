// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net"
	"net/netip"
	"sync"
)

// networkBits is the length of an IPv6 prefix that counts as one address: a client usually has all addresses of such a network.
const networkBits = 64

// fairListener limits the open connections of each client address, so that the unfinished requests of one client do not keep other clients
// from connecting. It closes further connections of the address immediately. Connections without an IP address, such as connections of a
// unix socket, are not limited.
type fairListener struct {
	net.Listener
	limit int

	mu   sync.Mutex
	open map[netip.Addr]int // number of open connections
}

// Accept implements net.Listener.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		address, ok := addressOf(conn)
		if !ok {
			return conn, nil
		}
		if l.add(address) {
			return &countedConn{Conn: conn, closed: sync.OnceFunc(func() { l.remove(address) })}, nil
		}
		_ = conn.Close()
	}
}

func (l *fairListener) add(address netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address] >= l.limit {
		return false
	}
	l.open[address]++
	return true
}

func (l *fairListener) remove(address netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[address]--; l.open[address] == 0 {
		delete(l.open, address)
	}
}

// addressOf returns the address of a client, or the network of an IPv6 address.
func addressOf(conn net.Conn) (netip.Addr, bool) {
	tcp, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}, false
	}
	address := tcp.AddrPort().Addr().Unmap().WithZone("")
	if address.Is6() {
		if network, err := address.Prefix(networkBits); err == nil {
			address = network.Addr()
		}
	}
	return address, address.IsValid()
}

// countedConn is a connection that the listener counts until it is closed.
type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	defer c.closed()
	return c.Conn.Close()
}
