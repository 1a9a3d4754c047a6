// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

// The error names the remedy for a certificate that is not trusted, such as after a change of its authority, because waiting does not
// help.
func TestViewUntrusted(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1})
	require.NoError(t, err)
	for name, options := range map[string]ViewOptions{"all pods": {}, "a node's": {Pods: PodsOptions{Node: "n1"}}} {
		t.Run(name, func(t *testing.T) {
			view, err := NewView(clients, options)
			require.NoError(t, err)
			view.Start()
			defer view.Stop()
			require.Eventually(t, func() bool { return len(view.Problems()) > 0 }, time.Minute, time.Millisecond)
			err = view.Problems()[0].Err
			require.ErrorContains(t, err, "certificate signed by unknown authority")
			require.ErrorContains(t, err, "; check the certificate authority, which is read when the collector starts")
		})
	}
}
