// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package viewtest

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// The sample has each event of the receiver, so that everything that shows events shows each.
func TestEveryEventIsInTheSample(t *testing.T) {
	declared, err := otlptest.ReadDeclared("../../../metadata.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, declared.Events)
	shown := map[string]bool{}
	for _, e := range NewReader(Snapshot()).Events() {
		shown[e.Name] = true
		assert.Contains(t, declared.Events, e.Name)
	}
	for name := range declared.Events {
		assert.True(t, shown[name], name)
	}
}
