// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTable(t *testing.T) {
	got := Table([]string{"NAME", "WATTS"}, []bool{false, true}, [][]string{{"模型", "5"}, {"long-name", "1234567"}})
	assert.Equal(t, "NAME         WATTS\n模型             5\nlong-name  1234567\n", got, "a wide character takes two cells")
	assert.Equal(t, "abc…", Fit("abcdef", 4, false))
	assert.Equal(t, "模… ", Fit("模型模型", 4, false), "half a character is none")
}

// A shortened name keeps its end, by which it differs from others.
func TestShorten(t *testing.T) {
	for width, want := range map[int]string{0: "", 3: "gk…", 12: "gke-p…f-x9z2", 40: "gke-prod-a3-highgpu-7a3f-x9z2"} {
		got := Shorten("gke-prod-a3-highgpu-7a3f-x9z2", width)
		assert.LessOrEqual(t, Width(got), width)
		assert.Equal(t, want, got)
	}
	assert.LessOrEqual(t, Width(Shorten("節点節点節点節点節点", 7)), 7)
}
