// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

// OTLP backends refuse a whole message for one byte that is not UTF-8.
func TestLabelIsText(t *testing.T) {
	for _, s := range []string{"\xff", "a\xc3", strings.Repeat("é", 256), strings.Repeat("x", 256-1) + "é"} {
		got := Label(s)
		assert.True(t, utf8.ValidString(got), "%q", got)
		assert.LessOrEqual(t, len(got), 256)
	}
}
