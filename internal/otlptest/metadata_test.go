// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Everything refers either to the semantic conventions or is marked as an extension.
func TestExtensionsAreMarked(t *testing.T) {
	content, err := os.ReadFile(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	type entries map[string]struct {
		Description string    `json:"description"`
		Convention  *struct{} `json:"semantic_convention"`
	}
	var declared struct {
		Resource   entries `json:"resource_attributes"`
		Attributes entries `json:"attributes"`
		Metrics    entries `json:"metrics"`
		Events     entries `json:"events"`
	}
	require.NoError(t, yaml.Unmarshal(content, &declared))
	for _, group := range []entries{declared.Resource, declared.Attributes, declared.Metrics, declared.Events} {
		require.NotEmpty(t, group)
		for name, e := range group {
			assert.NotEqual(t, e.Convention != nil, strings.HasSuffix(e.Description, "(extension)"), "%s: %s", name, e.Description)
		}
	}
}
