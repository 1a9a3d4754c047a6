// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net"
	"net/netip"
	"strings"
)

// hosts are the accepted names of this server. A page of another site can make its own name point to 127.0.0.1 (DNS rebinding), and a
// browser then lets it read what is served here. Its requests have that name in the Host header.
type hosts struct {
	checked bool
	names   map[string]struct{} // in lower case, in addition to the names of the loopback
}

// newHosts returns the configured names, and the names of the loopback. Without configured names, clients may use any name for an address
// that others can reach, and no name is refused.
func newHosts(configured []string, loopback bool) hosts {
	h := hosts{checked: loopback || len(configured) > 0, names: make(map[string]struct{}, len(configured))}
	for _, name := range configured {
		h.names[strings.ToLower(name)] = struct{}{}
	}
	return h
}

// allow reports whether a Host header, with or without a port, names this server.
func (h hosts) allow(header string) bool {
	if !h.checked {
		return true
	}
	name := strings.ToLower(withoutPort(header))
	if name == "localhost" {
		return true
	}
	if _, listed := h.names[name]; listed {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Zone() == "" && address.IsLoopback()
}

// withoutPort returns the name or the address of a Host header.
func withoutPort(header string) string {
	if name, _, err := net.SplitHostPort(header); err == nil {
		return name
	}
	if inner, ok := strings.CutPrefix(header, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			return inner
		}
	}
	return header
}
