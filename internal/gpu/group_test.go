// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGroupAllHasEach(t *testing.T) {
	for g := GroupUtilization; g <= GroupEvents; g <<= 1 {
		assert.True(t, GroupAll.Has(g))
	}
	assert.False(t, GroupAll.Has(GroupEvents<<1))
}
