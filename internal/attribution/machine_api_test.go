// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
)

func (m *machine) minorsDir() string { return filepath.Dir(m.minors) }

// discovering is a fake client with an API server that knows the versions of ResourceSlices and ResourceClaims.
type discovering struct {
	*fake.Clientset
	discovery discovery.DiscoveryInterface
}

func (d *discovering) Discovery() discovery.DiscoveryInterface { return d.discovery }

// serveSlices gives the clients of a machine an API server that serves resource.k8s.io/v1.
func (m *machine) serveSlices() {
	m.t.Helper()
	documents := map[string]string{
		"/apis/resource.k8s.io":    `{"preferredVersion":{"version":"v1"},"versions":[{"version":"v1"}]}`,
		"/apis/resource.k8s.io/v1": `{"resources":[{"name":"resourceslices","kind":"ResourceSlice"},{"name":"resourceclaims","kind":"ResourceClaim","namespaced":true}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(documents[r.URL.Path]))
	}))
	m.t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	require.NoError(m.t, err)
	m.clients.Kubernetes = &discovering{Clientset: m.client, discovery: client}
}
