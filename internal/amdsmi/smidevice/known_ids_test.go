// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smidevice

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
)

func TestKnownIDs(t *testing.T) {
	t.Parallel()
	newListed := func(bus, function uint32, unique string) Listed {
		return Listed{Address: smitext.Address{Bus: bus, Function: function}, UniqueID: unique}
	}
	for _, tt := range []struct {
		name          string
		before, after []Listed
		want          []string
	}{
		{"not read", []Listed{newListed(3, 0, "c"), newListed(4, 0, "d")}, []Listed{newListed(3, 0, ""), newListed(4, 0, "")}, []string{"c", "d"}},
		{"another is read", []Listed{newListed(3, 0, "c")}, []Listed{newListed(3, 0, "e")}, []string{"e"}},
		{"another address", []Listed{newListed(3, 0, "c")}, []Listed{newListed(5, 0, "")}, []string{""}},
		{"read elsewhere", []Listed{newListed(3, 0, "c")}, []Listed{newListed(3, 0, ""), newListed(5, 0, "c")}, []string{"", "c"}},
		{"read without an address", []Listed{newListed(3, 0, "c")}, []Listed{newListed(3, 0, ""), {UniqueID: "c"}}, []string{"", "c"}},
		{"never read", []Listed{newListed(3, 0, "")}, []Listed{newListed(3, 0, "")}, []string{""}},
		{"no address", []Listed{{UniqueID: "c"}}, []Listed{{}}, []string{""}},
		{"a partition", []Listed{newListed(3, 0, "c"), newListed(3, 1, "c")}, []Listed{newListed(3, 0, ""), newListed(3, 1, "c")}, []string{"c", "c"}},
		{"functions of a virtual machine", []Listed{newListed(3, 0, "c"), newListed(3, 1, "d")}, []Listed{newListed(3, 0, ""), newListed(3, 1, "d")}, []string{"c", "d"}},
		{"two of one id", []Listed{newListed(3, 0, "c"), newListed(4, 0, "c")}, []Listed{newListed(3, 0, ""), newListed(4, 0, "")}, []string{"c", "c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ids := make(KnownIDs)
			ids.Complete(tt.before, true)
			ids.Complete(tt.after, true)
			got := make([]string, 0, len(tt.after))
			for i := range tt.after {
				got = append(got, tt.after[i].UniqueID)
			}
			assert.Equal(t, tt.want, got)
		})
	}

	// An address that a complete list lacks is forgotten. Half a list says nothing about it.
	for partly, want := range map[bool]string{false: "", true: "c"} {
		ids := make(KnownIDs)
		ids.Complete([]Listed{newListed(3, 0, "c")}, true)
		ids.Complete([]Listed{newListed(4, 0, "d")}, !partly)
		again := []Listed{newListed(3, 0, "")}
		ids.Complete(again, true)
		assert.Equal(t, want, again[0].UniqueID)
	}
	ids := make(KnownIDs)
	for i := range uint32(2 * MaxDevices) {
		ids.Complete([]Listed{newListed(i+1, 0, "c")}, false)
		ids.Complete([]Listed{newListed(i+1, 0, fmt.Sprint("id", i))}, false)
	}
	assert.LessOrEqual(t, len(ids), MaxDevices)
}
