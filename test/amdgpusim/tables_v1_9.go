// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import "encoding/binary"

// AttributeType is the type of an attribute's values (enum amdgpu_metrics_attr_type).
type AttributeType uint

// The types that tests use.
const (
	AttributeU8  AttributeType = 0
	AttributeU16 AttributeType = 2
	AttributeS16 AttributeType = 3
	AttributeU32 AttributeType = 4
	AttributeU64 AttributeType = 6
)

// AttributeTable makes a table that describes itself: gpu_metrics from 1.9 on, xcp_metrics from 1.1 on.
type AttributeTable struct {
	text  []byte
	count uint32
}

// Add adds an attribute by its id (enum amdgpu_metrics_attr_id) and unit (enum amdgpu_metrics_attr_unit).
func (t *AttributeTable) Add(id uint, kind AttributeType, unit uint, values ...uint64) {
	t.count++
	encoding := uint64(unit)<<24 | uint64(kind)<<20 | uint64(id)<<10 | uint64(len(values))
	t.text = binary.LittleEndian.AppendUint64(t.text, encoding)
	for _, v := range values {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], v)
		t.text = append(t.text, word[:1<<(kind/2)]...)
	}
}

// Encode returns the table with its header.
func (t *AttributeTable) Encode(format, content byte) []byte {
	head := make([]byte, 8, 8+len(t.text))
	binary.LittleEndian.PutUint16(head, uint16(8+len(t.text)))
	head[2], head[3] = format, content
	binary.LittleEndian.PutUint32(head[4:], t.count)
	return append(head, t.text...)
}
