// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
)

// fakeAuthenticator wants one value of Authorization. It represents basicauth and bearertokenauth; test/collector has the real ones.
type fakeAuthenticator struct {
	component.StartFunc
	component.ShutdownFunc

	want string
}

func (a *fakeAuthenticator) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	if got := headers["Authorization"]; len(got) != 1 || got[0] != a.want {
		return ctx, errors.New("secret reason")
	}
	return ctx, nil
}

func TestAuthentication(t *testing.T) {
	for kind, challenge := range map[string]string{"basicauth": "Basic realm=\"gpu_view\", charset=\"UTF-8\"", "bearertokenauth": "Bearer"} {
		t.Run(kind, func(t *testing.T) {
			id := component.MustNewIDWithName(kind, "view")
			cfg := testConfig()
			cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
			reached := 0
			s := startServer(t, cfg, hostWith{id: &fakeAuthenticator{want: "Token 1"}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ }))
			for _, path := range []string{"", "healthz", "api/v1/gpu/nodes", "api/v1/gpu/stream"} {
				refused := get(t, s.url()+path)
				assert.Equal(t, http.StatusUnauthorized, refused.status)
				assert.Equal(t, challenge, refused.header.Get("WWW-Authenticate"))
				assert.Equal(t, "application/problem+json", refused.header.Get("Content-Type"))
				assert.NotContains(t, refused.body, "secret")
			}
			assert.Zero(t, reached)

			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), http.NoBody)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Token 1")
			assert.Equal(t, http.StatusOK, ask(t, newClient(), request).status)
			assert.Equal(t, 1, reached)
		})
	}
}

// An empty password is refused, although the authenticator accepts it: a variable of its htpasswd is not set.
func TestEmptyPassword(t *testing.T) {
	id := component.MustNewID("basicauth")
	cfg := testConfig()
	cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: id}})
	for credentials, want := range map[string]int{"alice:": http.StatusUnauthorized, ":": http.StatusUnauthorized, "alice:open sesame": http.StatusOK} {
		authorization := "Basic " + base64.StdEncoding.EncodeToString([]byte(credentials))
		s := startServer(t, cfg, hostWith{id: &fakeAuthenticator{want: authorization}}, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url(), http.NoBody)
		require.NoError(t, err)
		request.Header.Set("Authorization", authorization)
		answer := ask(t, newClient(), request)
		assert.Equal(t, want, answer.status, credentials)
		assert.Equal(t, want == http.StatusUnauthorized, answer.header.Get("WWW-Authenticate") != "")
	}
}

// An authenticator that is not there is an error of the start.
func TestAuthenticatorMissing(t *testing.T) {
	cfg := testConfig()
	cfg.Server.Auth = configoptional.Some(confighttp.AuthConfig{Config: configauth.Config{AuthenticatorID: component.MustNewID("basicauth")}})
	_, err := listen(t.Context(), cfg, componenttest.NewNopHost(), componenttest.NewNopTelemetrySettings(), http.NotFoundHandler())
	require.ErrorContains(t, err, "basicauth")
}
