// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deviceid

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestIsPCIAddress(t *testing.T) {
	for address, want := range map[string]bool{
		"0000:1b:00.0": true, "00010000:1B:0a.7": true,
		"": false, "1b:00.0": false, "000:1b:00.0": false, "0000:1b:00:0": false, "0000:1b.00.0": false, "0000:1b:00.00": false,
		"0000:1g:00.0": false, "0000:1b:0g.0": false, "0000:1b:00.g": false, "g000:1b:00.0": false,
	} {
		assert.Equal(t, want, isPCIAddress(address), address)
	}
}

func TestHasNumber(t *testing.T) {
	assert.True(t, hasNumber("nvidia12", "nvidia"))
	assert.False(t, hasNumber("12", "nvidia"))
	assert.False(t, hasNumber("nvidia1234567890", "nvidia"))
}
