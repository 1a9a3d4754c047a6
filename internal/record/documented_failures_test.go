// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Every reason for which a source cannot be read has a row in docs/troubleshoot/symptoms.md that says what to do.
func TestDocumentedFailures(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshoot/symptoms.md")
	require.NoError(t, err)
	for reason := range gpu.NumFailureReasons {
		assert.Contains(t, string(page), "\n| `"+FailureName(reason)+"` | ")
	}
}
