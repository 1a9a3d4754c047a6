// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDecodeMembers(t *testing.T) {
	t.Parallel()
	decode := func(text string) (map[string]int, error) {
		decoder := json.NewDecoder(strings.NewReader(text))
		members := map[string]int{}
		err := DecodeMembers(decoder, func(key string) error {
			var v int
			err := decoder.Decode(&v)
			if err == nil {
				members[key] = v
			}
			return err
		})
		return members, err
	}
	got, err := decode(`{"a": 1, "b": 2}`)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"a": 1, "b": 2}, got)
	for text, want := range map[string]string{
		"": "unexpected EOF", `[`: "unexpected [", `{"a": 1`: "unexpected EOF", `{"a": 1, `: "unexpected EOF", `{"a":`: "unexpected EOF",
		`{"a": 1, 7: 2}`: "invalid", `{"a": 1]`: "invalid", `{"a": "x"}`: "cannot unmarshal",
	} {
		_, err := decode(text)
		require.ErrorContains(t, err, want, text)
	}
	require.ErrorIs(t, EndOfInput(io.EOF), io.ErrUnexpectedEOF)
	require.ErrorIs(t, EndOfInput(assert.AnError), assert.AnError)
}

func TestCheckSize(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckSize([]byte(strings.Repeat(",", maxValues))))
	require.ErrorContains(t, CheckSize([]byte(strings.Repeat("{", maxValues+1))), "too many values")
}

func TestObjectStart(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"a": 1}`: 0, "WARNING {x}\n{ \"a\": 1}": 12, "{}": 0, "": -1, "{": -1, "{x": -1, "[{}]": 1,
	} {
		assert.Equal(t, want, ObjectStart([]byte(text)), text)
	}
	require.EqualError(t, NotJSON([]byte(" \n")), "output is not JSON: it is empty")
	require.EqualError(t, NotJSON([]byte("GPU: 0\n")), `output is not JSON: it begins with "GPU: 0"`)
	require.ErrorIs(t, NotJSON(nil), ErrNotJSON)
}
