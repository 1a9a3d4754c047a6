// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpumetrics

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

func TestPartitionTables(t *testing.T) {
	d := NewDecoder()
	var w attributeTable
	w.add(attributeGFXBusy, amdgpusim.AttributeU32, 10, 10, 20)
	w.add(attributeJPEGBusy, amdgpusim.AttributeU16, 10, 50)
	s, err := d.DecodePartition(w.Encode(1, 1))
	require.NoError(t, err)
	assert.Equal(t, PartitionActivity{GFX: gpu.Some(0.15), JPEG: gpu.Some(0.5)}, s)

	fixed := make([]byte, d.partition.size)
	for i := range fixed {
		fixed[i] = 0xff
	}
	binary.LittleEndian.PutUint16(fixed, uint16(len(fixed)))
	fixed[2], fixed[3] = 1, 0
	start := d.partition.fields[fieldGFXActivity].offset
	binary.LittleEndian.PutUint32(fixed[start:], 62)
	s, err = d.DecodePartition(fixed)
	require.NoError(t, err)
	assert.Equal(t, PartitionActivity{GFX: gpu.Some(0.62)}, s)

	fixed[0]--
	_, err = d.DecodePartition(fixed)
	require.ErrorIs(t, err, ErrFormat)
	_, err = d.DecodePartition(w.Encode(7, 7))
	require.ErrorIs(t, err, ErrRevision)
	_, err = d.DecodePartition([]byte{1})
	require.ErrorIs(t, err, ErrFormat)
}
