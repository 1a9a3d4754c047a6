// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// A GPU has the same hw.id in every spelling of the tools: the ID of the driver's file unique_id.
func TestOneIDForEverySpelling(t *testing.T) {
	t.Parallel()
	const want = "02150e7d042a1124"
	assert.Equal(t, want, UniqueID("0x2150e7d042a1124"), "rocm-smi")
	assert.Equal(t, want, UniqueID("02150E7D042A1124"), "rocm-smi of ROCm 3")
	assert.Equal(t, want, ASICSerial("0x02150E7D042A1124"), "amd-smi since 6.4.2")
	assert.Equal(t, want, ASICSerial("0x2150E7D042A1124"), "amd-smi before")
	assert.Equal(t, want, ASICSerial("0x150042092690346276"), "amd-smi without the DRM device")
	assert.Equal(t, want, UUIDSerial("02ff6861-0000-1000-8015-0e7d042a1124"), "amd-smi list")
	assert.Equal(t, want, UUIDSerial("02036861-0000-1000-8015-0e7d042a1124"), "a partition")
	assert.Equal(t, want, HIPUUID("GPU-02150e7d042a1124"), "amd-smi list -e")
}

func TestNoID(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "N/A", "0x0", "0", "0x", "0xffffffffffffffff", "0x12345678901234567", "unknown", "0xzz", "-1"} {
		assert.Empty(t, UniqueID(s), s)
	}
	for _, s := range []string{"", "N/A", "0x0", "0x18446744073709551615", "0x99999999999999999999", "0xabcdef01234567890"} {
		assert.Empty(t, ASICSerial(s), s)
	}
	for _, s := range []string{
		"", "N/A", "ffff0000-0000-1000-80ff-ffffffffffff", "00ff74a1-0000-1000-8000-000000000000",
		"0190a8f2-7c3b-8e11-9abc-def012345678", "02ff6861-0000-1000-8015-0e7d042a112", "02ff6861-0000-1000-8015x0e7d042a1124", "02ff6861-0000-1000-80zz-0e7d042a1124",
	} {
		assert.Empty(t, UUIDSerial(s), s)
	}
	for _, s := range []string{"", "N/A", "02150e7d042a1124", "GPU-", "GPU-0000000000000000"} {
		assert.Empty(t, HIPUUID(s), s)
	}
}
