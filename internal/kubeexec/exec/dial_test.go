// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

func pemOf(certificate []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

// former is a certificate authority that did not issue the server's certificate.
func former(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return pemOf(certificate)
}

// A cluster's certificate authority is replaced: the one in the file is used within a few minutes, and the file is not read for each exec.
func TestExecAuthorityReplaced(t *testing.T) {
	s := exectest.NewServer(t)
	s.Boxes["driver-n1"] = echo
	s.Write("ca.crt", former(t))
	e := connect(t, s)
	now := time.Now()
	e.dialer.now = func() time.Time { return now }
	exec := func() error {
		_, err := e.Exec(soon(t), inDriver, []string{"a"}, newOutput())
		return err
	}
	require.ErrorContains(t, exec(), "certificate signed by unknown authority")
	s.Write("ca.crt", pemOf(s.Certificate().Raw))
	now = now.Add(tlsKeep - time.Second)
	require.ErrorContains(t, exec(), "certificate signed by unknown authority")
	now = now.Add(time.Second)
	require.NoError(t, exec())
}
