// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSymbol(t *testing.T) {
	assert.Equal(t, "nvmlDeviceGetHandleByIndex", handleByIndex.Symbol(), "the oldest version, for messages")
	for _, f := range essential {
		assert.NotEmpty(t, f.What)
		assert.NotContains(t, f.Symbol(), "_v")
	}
}
