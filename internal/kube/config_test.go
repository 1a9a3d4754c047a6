// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name   string
		config Config
		want   string // part of the message; empty if the configuration is valid
	}{
		{"default", Config{}, ""},
		{"service account", Config{AuthType: AuthServiceAccount, QPS: 20, Burst: 40}, ""},
		{"kubeconfig", Config{AuthType: AuthKubeConfig, Context: "prod", AllowExecCredentials: true}, ""},
		{"none", Config{AuthType: AuthNone}, ""},
		{"endpoint", Config{Endpoint: "https://10.0.0.1:6443", TokenFile: "/t", CAFile: "/ca"}, ""},
		{"endpoint without authentication", Config{AuthType: AuthNone, Endpoint: "http://127.0.0.1:8001"}, ""},
		{"unknown", Config{AuthType: "tls"}, `auth_type: "tls" is unknown; allowed are serviceAccount, kubeConfig and none`},
		{"spelling", Config{AuthType: "serviceaccount"}, "auth_type: "},
		{"context", Config{Context: "prod"}, "context: is only allowed with auth_type: kubeConfig"},
		{"exec", Config{AllowExecCredentials: true}, "allow_exec_credentials: "},
		{"token without endpoint", Config{TokenFile: "/t"}, "token_file: is only allowed with endpoint"},
		{"certificates without endpoint", Config{CAFile: "/t"}, "ca_file: is only allowed with endpoint"},
		{"unchecked without endpoint", Config{InsecureSkipVerify: true}, "insecure_skip_verify: is only allowed with endpoint"},
		{"two ways", Config{AuthType: AuthServiceAccount, Endpoint: "https://a", TokenFile: "/t"}, "endpoint: is not allowed with auth_type: serviceAccount"},
		{"no token", Config{Endpoint: "https://a"}, "token_file: must be set"},
		{"token and none", Config{AuthType: AuthNone, Endpoint: "https://a", TokenFile: "/t"}, "token_file: is not allowed"},
		{"token in the clear", Config{Endpoint: "http://a", TokenFile: "/t"}, "endpoint: must be https"},
		{"no address", Config{Endpoint: "a:6443", TokenFile: "/t"}, `endpoint: "a:6443" is not the address`},
		{"password", Config{Endpoint: "https://u:p@a", TokenFile: "/t"}, `endpoint: "https://u:xxxxx@a" is not the address`},
		{"password, garbled", Config{Endpoint: "https://u:p%zz@a", TokenFile: "/t"}, `endpoint: "…@a" is not the address`},
		{"rate", Config{QPS: -1}, "kube_api_qps: -1 is negative"},
		{"burst", Config{Burst: -1}, "kube_api_burst: -1 is negative"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Check()
			if tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	assert.Empty(t, (&Config{Endpoint: "https://a", TokenFile: "/t"}).Warnings())
	assert.Len(t, (&Config{Endpoint: "https://a", TokenFile: "/t", InsecureSkipVerify: true}).Warnings(), 1)
	assert.Len(t, (&Config{AuthType: AuthKubeConfig, AllowExecCredentials: true}).Warnings(), 1)
	assert.Len(t, (&Config{AuthType: AuthNone}).Warnings(), 1)
}

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: one
clusters:
- {name: one, cluster: {server: "https://one:6443"}}
- {name: two, cluster: {server: "https://two:6443"}}
contexts:
- {name: one, context: {cluster: one, user: token}}
- {name: two, context: {cluster: two, user: token}}
- {name: exec, context: {cluster: two, user: exec}}
- {name: provider, context: {cluster: two, user: provider}}
users:
- {name: token, user: {token: abc}}
- {name: exec, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: get-me-in, interactiveMode: Never}}}
- {name: provider, user: {auth-provider: {name: gcp}}}
`

func TestKubeConfig(t *testing.T) {
	t.Setenv("KUBECONFIG", write(t, kubeconfig))
	config, err := (&Config{AuthType: AuthKubeConfig}).REST()
	require.NoError(t, err)
	assert.Equal(t, "https://one:6443", config.Host)
	assert.Equal(t, "abc", config.BearerToken)

	config, err = (&Config{AuthType: AuthKubeConfig, Context: "two", QPS: 7, Burst: 9}).REST()
	require.NoError(t, err)
	assert.Equal(t, "https://two:6443", config.Host)
	assert.InDelta(t, 7, config.QPS, 0)
	assert.Equal(t, 9, config.Burst)

	_, err = (&Config{AuthType: AuthKubeConfig, Context: "exec"}).REST()
	require.ErrorContains(t, err, `"get-me-in"`)
	require.ErrorContains(t, err, "allow_exec_credentials")
	config, err = (&Config{AuthType: AuthKubeConfig, Context: "exec", AllowExecCredentials: true}).REST()
	require.NoError(t, err)
	assert.NotNil(t, config.ExecProvider)

	_, err = (&Config{AuthType: AuthKubeConfig, Context: "provider", AllowExecCredentials: true}).REST()
	require.ErrorContains(t, err, "auth provider (gcp)")
	_, err = (&Config{AuthType: AuthKubeConfig, Context: "three"}).REST()
	require.ErrorContains(t, err, "three")
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	_, err = (&Config{AuthType: AuthKubeConfig}).REST()
	require.ErrorContains(t, err, "auth_type kubeConfig: no kubeconfig file at "+missing+"; set KUBECONFIG to its path")
}

func TestOutsideOfACluster(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	for _, auth := range []AuthType{"", AuthServiceAccount, AuthNone} {
		_, err := (&Config{AuthType: auth}).REST()
		require.ErrorContains(t, err, "KUBERNETES_SERVICE_HOST")
	}
}

func TestNoAuthentication(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	config, err := (&Config{AuthType: AuthNone}).REST()
	require.NoError(t, err)
	assert.Equal(t, "https://[fd00::1]:443", config.Host)
	proxy, err := config.Proxy(nil)
	require.NoError(t, err)
	assert.Nil(t, proxy)
}

// A request has the token, and the certificate file verifies the server.
func TestEndpoint(t *testing.T) {
	var authorization, agent string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization, agent = r.Header.Get("Authorization"), r.UserAgent()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}`))
	}))
	defer server.Close()
	rest, err := (&Config{
		Endpoint: server.URL, TokenFile: write(t, "secret\n"), CAFile: write(t, certificate(t, server)),
	}).REST()
	require.NoError(t, err)
	clients, err := NewClients(rest)
	require.NoError(t, err)
	_, err = clients.Kubernetes.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.Equal(t, "Bearer secret", authorization)
	assert.Equal(t, userAgent, agent)

	rest, err = (&Config{Endpoint: server.URL, TokenFile: write(t, "secret")}).REST()
	require.NoError(t, err)
	clients, err = NewClients(rest)
	require.NoError(t, err)
	_, err = clients.Kubernetes.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "certificate", "an unknown certificate is refused")

	_, err = (&Config{Endpoint: server.URL, TokenFile: write(t, "secret"), CAFile: filepath.Join(t.TempDir(), "gone")}).REST()
	require.ErrorContains(t, err, "ca_file: open")
	require.ErrorContains(t, err, "gone")
	_, err = (&Config{Endpoint: server.URL, TokenFile: write(t, "secret"), CAFile: write(t, "no certificate")}).REST()
	require.ErrorContains(t, err, "contains no certificate in PEM format")
}
