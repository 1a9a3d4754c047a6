// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPCIAddress(t *testing.T) {
	for printed, want := range map[string]string{
		"00000000:1A:00.0": "0000:1a:00.0", "0000:1a:00.0": "0000:1a:00.0", "00010000:F9:1F.7": "10000:f9:1f.7", "0:09:aF.0": "0000:09:af.0",
		"": "", "1A:00.0": "", ":1A:00.0": "", "000000000:1A:00.0": "", "0000:1A:00:0": "", "0000:1A.00.0": "", "0000:1A:00.00": "",
		"0000:G0:00.0": "", "0000:0G:00.0": "", "0000:00:g0.0": "", "0000:00:00.g": "", "0000:/0:00.0": "", "0000:00::0.0": "", "0000:00:00.@": "",
		"0000:00:00.`": "", "x000:00:00.0": "",
	} {
		assert.Equal(t, want, PCIAddress(printed), printed)
	}
}

func TestTrapPCIAddressDigits(t *testing.T) {
	for printed, want := range map[string]string{
		"00000000:0C:00.0": "0000:0c:00.0", "0000:9b:00.0": "0000:9b:00.0", "00001580:00:00.0": "1580:00:00.0",
		"00010000:01:00.0": "10000:01:00.0", "F8D6:00:00.0": "f8d6:00:00.0",
		"": "", "N/A": "", "0000:9b:00": "", "0000:9b:00:0": "", "zz00:9b:00.0": "", "0000:9g:00.0": "", "000000000:9b:00.0": "", ":9b:00.0": "",
	} {
		assert.Equal(t, want, PCIAddress(printed), printed)
	}
}
