// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsPCIAddress(t *testing.T) {
	for _, s := range []string{"0000:03:00.0", "10000:e1:00.0", "abcd:ff:1f.7"} {
		assert.True(t, IsPCIAddress(s), s)
	}
	for _, s := range []string{"", "pci0000:00", "amdgpu_xcp_1", "0000-03:00.0", "0000:03:00:0", "0000:0g:00.0"} {
		assert.False(t, IsPCIAddress(s), s)
	}
}

func TestIsDRMNode(t *testing.T) {
	for _, s := range []string{"card0", "card12", "renderD128"} {
		assert.True(t, IsDRMNode(s), s)
	}
	for _, s := range []string{"", "card", "card0-DP-1", "controlD64", "version", "renderD", "renderDx"} {
		assert.False(t, IsDRMNode(s), s)
	}
}
