// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/reference"
)

// The defaults that are only filled in when the configuration is used are documented, too.
func TestDefaultsAreDocumented(t *testing.T) {
	root := filepath.Join("..", "..")
	pages := reference.Read(t, root)
	documented := map[string]string{}
	for _, row := range pages.Documented(map[string]string{"scrapers::kubernetes_exec": ""}) {
		documented[row.Key] = row.Default
	}
	target := TargetConfig{LabelSelector: "a=b"}.withDefaults()
	election := (&Config{Shards: 2}).leaderElection()
	for key, want := range map[string]string{
		"targets::N::namespace": target.Namespace, "targets::N::container": target.Container,
		"targets::N::tool": target.Tool, "targets::N::query": target.Query,
		"leader_election::lease_name": election.LeaseName,
	} {
		assert.Equal(t, want, documented[key], key)
	}

	page, err := os.ReadFile(filepath.Join(root, "docs", "reference", "scrapers.md"))
	require.NoError(t, err)
	for _, target := range (&Config{}).targets() {
		assert.Contains(t, string(page), "`"+target.LabelSelector+"`")
	}
	assert.Contains(t, string(page), fmt.Sprintf("at most %d characters", maxLeaseName))
}
