// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"net/http"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// refusal answers what the Collector's HTTP server itself refuses: requests without valid credentials.
func refusal(cfg *Config) func(http.ResponseWriter, *http.Request, string, int) {
	challenge := "Bearer"
	if asksForPassword(cfg) {
		challenge = `Basic realm="gpu_view", charset="UTF-8"` // a browser asks for the password
	}
	return func(w http.ResponseWriter, r *http.Request, message string, status int) {
		if status != http.StatusUnauthorized {
			route.WriteProblem(w, r, route.Problem(status, "The request cannot be read", message, "Send a plain GET request."))
			return
		}
		w.Header().Set("WWW-Authenticate", challenge)
		route.WriteProblem(w, r, route.Problem(status, "Not authenticated", "the credentials are missing or wrong", // the reason is not disclosed
			"Send credentials that the authenticator of the exporter accepts."))
	}
}

// asksForPassword reports whether the authenticator of the server takes a name and a password.
func asksForPassword(cfg *Config) bool {
	auth := cfg.Server.Auth.Get()
	return auth != nil && strings.HasPrefix(auth.Config.AuthenticatorID.Type().String(), "basic")
}

// withPassword refuses an empty password before the authenticator sees it. The users of an authenticator are not visible here, and a line
// "alice:" of an htpasswd, whose variable is not set, would accept any client.
func withPassword(refuse func(http.ResponseWriter, *http.Request, string, int), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); ok && password == "" {
			refuse(w, r, "", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
