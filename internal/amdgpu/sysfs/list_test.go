// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wholeLines gives whole lines of one length, no more than a page of them, as the driver does for its bad pages.
type wholeLines struct {
	line         string
	offset, left int
}

func (w *wholeLines) Read(p []byte) (int, error) {
	size := len(w.line)
	first, end := (w.offset+size-1)/size, (w.offset+min(len(p), page)-1)/size
	text := strings.Repeat(w.line, max(0, min(end-first, w.left)))
	w.left -= len(text) / size
	w.offset += len(text)
	return copy(p, text), nil
}

func TestReadList(t *testing.T) {
	const line = "0x00012345 : 0x00001000 : R\n"
	for _, lines := range []int{0, 1, 145, 146, 147, 1000} {
		text, err := readList(&wholeLines{line: line, left: lines}, 1<<20)
		require.NoError(t, err)
		assert.Equal(t, lines, strings.Count(string(text), line))
	}
	_, err := readList(&wholeLines{line: line, left: 1000}, 20_000)
	require.ErrorIs(t, err, ErrFormat)

	path := filepath.Join(t.TempDir(), "list")
	_, err = ReadList(path, 10)
	assert.Equal(t, syscall.ENOENT, err, "the bare answer")
	require.NoError(t, os.WriteFile(path, []byte("12345678"), 0o600))
	text, err := ReadList(path, 8)
	require.NoError(t, err)
	assert.Equal(t, "12345678", string(text))
}
