// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	tests := []struct {
		name, input string
		want        string
		start       uint64
		ok          bool
	}{
		{"plain", statLine(1, "init", 0x400100, 42), "init", 42, true},
		{"parentheses", statLine(1, "a) R 1 (b", 0, 7), "a) R 1 (b", 7, true},
		{"empty name", statLine(1, "", 0, 7), "", 7, true},
		{"line end in the name", statLine(1, "a\nb", 0, 7), "a\nb", 7, true},
		{"empty", "", "", 0, false},
		{"no name", "1 S 2 3", "", 0, false},
		{"cut short", "1 (a) S 1 1 1 0 -1 0 1 2 3", "", 0, false},
		{"no number", strings.Replace(statLine(1, "a", 0, 77), " 77 ", " x ", 1), "", 0, false},
		{"reversed", ") (", "", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := parseStat([]byte(tt.input))
			if !tt.ok {
				require.ErrorIs(t, err, errStat)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(s.name))
			assert.Equal(t, tt.start, s.start)
		})
	}
}

func TestStartTime(t *testing.T) {
	assert.Equal(t, boot.Add(10*time.Millisecond), startTime(boot, 1))
	assert.True(t, startTime(time.Time{}, 1).IsZero())
	assert.True(t, startTime(boot, 1<<63).IsZero(), "no time overflows")
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine(1, "init", 0x400100, 42)))
	f.Add([]byte("1 (a) S 1 1"))
	f.Add([]byte("1 (a) b) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := parseStat(data)
		if err == nil {
			assert.Contains(t, string(data), "("+string(s.name)+")")
		}
	})
}
