// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// listenGarbage answers every connection with something else than HTTP/2.
func listenGarbage(t *testing.T, socket string) {
	t.Helper()
	listener, err := net.Listen("unix", socket) //nolint:noctx // a test's
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			_ = conn.Close()
		}
	}()
}
