// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The kinds of owners that kubernetes_cluster is to read are among the permissions that an examination checks.
func TestExaminationAsksForOwners(t *testing.T) {
	cfg, err := loadMap(map[string]any{"scrapers": map[string]any{"kubernetes_cluster": map[string]any{
		"owners": map[string]any{"kinds": []any{"replicasets.apps"}},
	}}})
	require.NoError(t, err)
	uses := cfg.apiUses(Signals{Logs: true})
	require.Len(t, uses, 1)
	var texts []string
	for _, permission := range uses[0].permissions {
		texts = append(texts, permission.String())
	}
	assert.Equal(t, []string{"replicasets.apps"}, uses[0].kinds)
	assert.Subset(t, texts, []string{"list pods", "list nodes", "list replicasets.apps", "watch replicasets.apps"})
}
