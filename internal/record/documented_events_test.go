// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// docs/events.md says of each event what it means.
func TestEventsAreDocumented(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, declared.Events)
	docs, err := os.ReadFile("../../docs/events.md")
	require.NoError(t, err)
	for event := range declared.Events {
		assert.True(t, strings.Contains(string(docs), "`"+event+"`"), "docs/events.md does not have %s", event) //nolint:testifylint // Contains would print the page
	}
}
