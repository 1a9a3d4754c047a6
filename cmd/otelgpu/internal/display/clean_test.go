// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package display

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// obeyed reports whether a terminal could obey a character.
func obeyed(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// A terminal that shows the JSON obeys nothing in it, and a program that parses it gets the same value.
func FuzzCleanJSON(f *testing.F) {
	for _, seed := range []string{"train-0", "\u009b31m", "a\u202eb\u2028", "\U000e0001tag", "\x7f", "\x00", "模型"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw, err := json.MarshalIndent(map[string]string{"name": text}, "", "  ")
		require.NoError(t, err)
		clean := CleanJSON(raw)
		assert.False(t, strings.ContainsFunc(strings.ReplaceAll(string(clean), "\n", ""), obeyed), "%q", clean)
		var before, after map[string]string
		require.NoError(t, json.Unmarshal(raw, &before))
		require.NoError(t, json.Unmarshal(clean, &after))
		assert.Equal(t, before, after)
	})
}
