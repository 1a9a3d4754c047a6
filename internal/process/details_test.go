// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestEffectiveUser(t *testing.T) {
	for input, want := range map[string]uint32{
		"Name:\ta\nUid:\t1\t2\t3\t4\n": 2,
		"Uid: 0 0 0 0":                 0,
		"Uid:\t1\t4294967295\t3\t4":    4294967295,
	} {
		uid, ok := effectiveUser([]byte(input))
		assert.True(t, ok, input)
		assert.Equal(t, want, uid, input)
	}
	for _, input := range []string{"", "Uid:\t1", "Uid:\t1\tx", "Uid:\t1\t-1", "Gid:\t1\t2", "Uid:\t1\t4294967296"} {
		_, ok := effectiveUser([]byte(input))
		assert.False(t, ok, input)
	}
}

func FuzzEffectiveUser(f *testing.F) {
	f.Add([]byte("Name:\ta\nUid:\t1\t2\t3\t4\n"))
	f.Add([]byte("Uid:\t1\t4294967296\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if uid, ok := effectiveUser(data); !ok {
			assert.Zero(t, uid)
		}
	})
}
