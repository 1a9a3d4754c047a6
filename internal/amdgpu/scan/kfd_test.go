// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGFXTarget(t *testing.T) {
	for version, want := range map[uint64]string{90402: "gfx942", 90010: "gfx90a", 90008: "gfx908", 110003: "gfx1103", 120001: "gfx1201", 0: ""} {
		assert.Equal(t, want, gfxTarget(version))
	}
}

func FuzzProperties(f *testing.F) {
	f.Add("location_id 768\nsimd_count 304\nsimd_per_cu 4\ngfx_target_version 90402\n")
	f.Add("location_id 18446744073709551615\ndrm_render_minor 1\n 7\n")
	f.Fuzz(func(t *testing.T, text string) {
		var n Node
		n.setProperties(properties(text))
		if n.Partition < 0 || n.Partition > 15 {
			t.Error(n.Partition)
		}
	})
}
