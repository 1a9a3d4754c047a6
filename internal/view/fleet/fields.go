// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"unicode/utf8"
)

const (
	maxFields      = 4096 // distinct metrics with labels, of the whole fleet
	maxLabelLength = 128
)

// field is the number of a metric with its labels.
type field uint16

// fieldKey identifies a field.
type fieldKey struct {
	metric *metric
	labels [maxLabels]string
}

// fields numbers metrics with their labels, so that a reading needs no text.
type fields struct {
	numbers map[fieldKey]field
	keys    []fieldKey
}

func newFields() *fields { return &fields{numbers: map[fieldKey]field{}} }

// get returns the field of a key. It returns false for a new key if there are too many.
func (f *fields) get(key fieldKey) (field, bool) {
	if number, ok := f.numbers[key]; ok {
		return number, true
	}
	if len(f.keys) == maxFields {
		return 0, false
	}
	for i, label := range key.labels {
		if len(label) > maxLabelLength || !utf8.ValidString(label) {
			return 0, false
		}
		key.labels[i] = strings.Clone(label)
	}
	number := field(len(f.keys))
	f.keys, f.numbers[key] = append(f.keys, key), number
	return number, true
}

func (f *fields) key(number field) *fieldKey { return &f.keys[number] }
