// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenAgent is the shipped agent with the overlay for a backend that has TLS and a bearer token.
func tokenAgent(t *testing.T, n *node, endpoint, token, ca string) {
	t.Helper()
	s := shipped{
		configs:  []string{"agent.yaml", filepath.Join("overlays", "otlp-token.yaml")},
		scrapers: fmt.Sprintf("scrapers: {nvml: {library_path: %q}}", simulator(t).Full),
		env:      append(n.environment(), "OTLP_ENDPOINT="+endpoint, "OTLP_TOKEN_FILE="+token, "OTLP_CA_FILE="+ca),
	}
	n.page, n.process = s.start(t, n.dir, n.sink)
}

// A backend with TLS and a bearer token accepts data only from an agent with the correct token and its certificate authority. The log says
// which of the two is wrong, and does not contain the token. The correct token works without a restart.
func TestBackendWithToken(t *testing.T) {
	t.Parallel()
	binary(t)
	own := newAuthority(t, "backend")
	checked := func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md.Get("authorization"), []string{"Bearer open-sesame"}) {
			return nil, status.Error(codes.Unauthenticated, "the backend does not know this token")
		}
		return handler(ctx, request)
	}
	backend := func(n *node) string {
		server := own.pair(t, 2)
		endpoint, stop, err := n.sink.ServeGRPCAt("127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&server)), grpc.UnaryInterceptor(checked))
		require.NoError(t, err)
		t.Cleanup(stop)
		return endpoint
	}

	t.Run("token", func(t *testing.T) {
		t.Parallel()
		n := prepare(t, spec{})
		token := filepath.Join(n.dir, "token")
		replaceFile(t, token, []byte("open-barley\n"))
		tokenAgent(t, n, backend(n), token, trust(t, n.dir, own))
		eventually(t, patience, "the log says so", func() bool {
			return strings.Contains(n.process.Output(), "code = Unauthenticated desc = the backend does not know this token")
		})
		arrived, _ := n.sink.Messages()
		assert.Zero(t, arrived)
		replaceFile(t, token, []byte("open-sesame\n"))
		n.next("eight GPUs", full(8))
		for _, secret := range []string{"barley", "sesame"} {
			assert.NotContains(t, n.process.Output(), secret)
		}
		n.interrupt()
	})
	t.Run("authority", func(t *testing.T) {
		t.Parallel()
		n := prepare(t, spec{})
		token := filepath.Join(n.dir, "token")
		replaceFile(t, token, []byte("open-sesame\n"))
		tokenAgent(t, n, backend(n), token, trust(t, n.dir, newAuthority(t, "another")))
		eventually(t, patience, "the log says so", func() bool {
			return strings.Contains(n.process.Output(), "tls: failed to verify certificate: x509: certificate signed by unknown authority")
		})
		arrived, _ := n.sink.Messages()
		assert.Zero(t, arrived)
		assert.NotContains(t, n.process.Output(), "sesame")
	})
	for name, c := range map[string]struct{ token, ca, want string }{
		"no token":     {"absent", "", "absent"},
		"no variable":  {"", "", "bearertokenauth/otlp"},
		"no authority": {"token", "absent", "failed to load CA CertPool File"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := prepare(t, spec{})
			replaceFile(t, filepath.Join(n.dir, "token"), []byte("open-sesame\n"))
			files := map[string]string{"": "", "absent": filepath.Join(n.dir, "absent"), "token": filepath.Join(n.dir, "token")}
			tokenAgent(t, n, "127.0.0.1:1", files[c.token], files[c.ca])
			code, err := n.process.Wait(patience)
			require.NoError(t, err)
			assert.NotZero(t, code)
			assert.Contains(t, n.process.Output(), c.want)
			assert.NotContains(t, n.process.Output(), "sesame")
		})
	}
}
