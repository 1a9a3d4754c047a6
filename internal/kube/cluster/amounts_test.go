// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAmounts(t *testing.T) {
	a, b := []amount{{nvidia, 1}, {amd, 2}}, []amount{{mig, 3}, {nvidia, 4}}
	assert.Equal(t, []amount{{nvidia, 5}, {amd, 2}, {mig, 3}}, sum(a, b))
	assert.Equal(t, []amount{{nvidia, 4}, {amd, 2}, {mig, 3}}, largest(a, b))
	assert.Equal(t, []amount{{nvidia, 1}, {amd, 2}}, a, "unchanged")
	assert.Equal(t, int64(4), count(b, nvidia))
	assert.Zero(t, count(b, amd))
	assert.True(t, contains([]amount{{nvidia, 0}}, nvidia))
	assert.False(t, contains(a, mig))
}
