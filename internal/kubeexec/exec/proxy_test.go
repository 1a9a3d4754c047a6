// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// An HTTP proxy is used through CONNECT, with both protocols.
func TestExecThroughProxy(t *testing.T) {
	connects := make(chan string, 8)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connects <- r.Method + " " + r.Header.Get("Proxy-Authorization")
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		server, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		client, ahead, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(server, ahead)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
		_ = client.Close()
	}))
	t.Cleanup(proxy.Close)
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"] = echo
	through, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	e := connect(t, s)
	e.dialer.proxy = func(*http.Request) (*url.URL, error) { return through, nil }
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, "407 Proxy Authentication Required")
	assert.Equal(t, "CONNECT ", <-connects)

	through.User = url.UserPassword("user", "secret")
	for _, spdy := range []bool{false, true} {
		if spdy {
			e.preferSPDY(exectest.Namespace)
		}
		out := newOutput()
		_, err = e.Exec(soon(t), inDriver, []string{"a"}, out)
		require.NoError(t, err)
		assert.Equal(t, `["a"]`, string(out.stdout.data))
		assert.Equal(t, "CONNECT Basic dXNlcjpzZWNyZXQ=", <-connects)
	}
	through.Host = "127.0.0.1:1"
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
}

// A kubeconfig may name a SOCKS proxy.
func TestExecThroughSOCKS(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"] = echo
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		defer func() { _ = client.Close() }()
		request := make([]byte, 262)
		if _, err := io.ReadFull(client, request[:3]); err != nil { // version, one method, none
			return
		}
		_, _ = client.Write([]byte{5, 0})
		if _, err := io.ReadFull(client, request[:10]); err != nil { // version, connect, 0, IPv4, address, port
			return
		}
		server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", s.Listener.Addr().String())
		if err != nil {
			return
		}
		_, _ = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() {
			_, _ = io.Copy(server, client)
			_ = server.Close()
		}()
		_, _ = io.Copy(client, server)
	}()
	e := connect(t, s)
	e.dialer.proxy = func(*http.Request) (*url.URL, error) {
		return &url.URL{Scheme: "socks5", Host: listener.Addr().String()}, nil
	}
	out := newOutput()
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, out)
	require.NoError(t, err)
	assert.Equal(t, `["a"]`, string(out.stdout.data))

	e.dialer.proxy = func(*http.Request) (*url.URL, error) { return &url.URL{Scheme: "gopher", Host: "a"}, nil }
	_, err = e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
	require.ErrorContains(t, err, `a proxy of the kind "gopher" is not supported`)
}

func TestHostPort(t *testing.T) {
	for text, want := range map[string]string{
		"https://a": "a:443", "http://a": "a:80", "socks5://a": "a:1080", "https://[fd00::1]": "[fd00::1]:443", "https://a:6443": "a:6443",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, hostPort(u))
	}
}
