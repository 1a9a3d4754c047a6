// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// Start starts an etcd and a kube-apiserver from E2E_CACHE, else from .tools/kubernetes, until the test ends, and returns the
// administrator's access. It skips the test if test/kubernetes/build.sh has not built them. The package of the test is two directories
// below the root.
func Start(t *testing.T) *rest.Config {
	t.Helper()
	cache := os.Getenv("E2E_CACHE")
	if cache == "" {
		cache = filepath.Join("..", "..", ".tools", "kubernetes")
	}
	bin, err := filepath.Abs(filepath.Join(cache, "bin"))
	require.NoError(t, err)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Skip("there is no " + name + "; test/kubernetes/build.sh builds it")
		}
	}
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	keyFile, tokenFile := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(tokenFile, []byte("test-of-manifests,admin,1,system:masters\n"), 0o600))
	client, peer, secure := freePort(t), freePort(t), freePort(t)
	background(t, filepath.Join(bin, "etcd"), "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=http://127.0.0.1:"+client, "--advertise-client-urls=http://127.0.0.1:"+client,
		"--listen-peer-urls=http://127.0.0.1:"+peer)
	background(t, filepath.Join(bin, "kube-apiserver"), "--etcd-servers=http://127.0.0.1:"+client, "--bind-address=127.0.0.1",
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", "--secure-port="+secure, "--cert-dir="+dir, "--authorization-mode=RBAC", "--token-auth-file="+tokenFile,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+keyFile,
		"--service-account-signing-key-file="+keyFile, "--service-cluster-ip-range=10.96.0.0/24",
		"--allow-privileged=true") // as GKE needs it
	return &rest.Config{
		Host: "https://127.0.0.1:" + secure, BearerToken: "test-of-manifests", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // it has signed its certificate itself
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress()
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

// background runs a program until the test ends.
func background(t *testing.T, program string, args ...string) {
	t.Helper()
	var out strings.Builder
	command := exec.Command(program, args...) //nolint:noctx // it is killed below
	command.Stdout, command.Stderr = &out, &out
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			lines := strings.Split(out.String(), "\n")
			t.Log(filepath.Base(program), strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}
