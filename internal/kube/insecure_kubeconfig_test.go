// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A kubeconfig file that does not verify the certificate is warned of as insecure_skip_verify is.
func TestInsecureKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	t.Setenv("KUBECONFIG", file)
	c := Config{AuthType: AuthKubeConfig}
	for text, want := range map[string]int{"insecure-skip-tls-verify: true": 1, "insecure-skip-tls-verify: false": 0} {
		require.NoError(t, os.WriteFile(file, []byte("clusters: [{name: a, cluster: {"+text+", server: 'https://h'}}]\n"+
			"contexts: [{name: a, context: {cluster: a, user: u}}]\nusers: [{name: u, user: {token: x}}]\ncurrent-context: a\n"), 0o600))
		assert.Len(t, c.Warnings(), want)
	}
}
