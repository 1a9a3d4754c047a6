// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// image is the simulated library as a file of its own.
func image(t *testing.T) []byte {
	t.Helper()
	lib, err := nvmlsim.Build()
	if err != nil {
		t.Skip(err)
	}
	data, err := os.ReadFile(lib.Full)
	require.NoError(t, err)
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

func TestTruncatedFiles(t *testing.T) {
	whole := image(t)
	path := filepath.Join(t.TempDir(), libraryName)
	for _, percent := range []int{10, 50, 90, 99} {
		write(t, path, whole[:len(whole)*percent/100])
		err := new(Loader).check(path)
		require.ErrorContains(t, err, "the file is incomplete", "%d %%", percent)
		require.ErrorContains(t, err, path)
	}
	write(t, path, whole)
	require.NoError(t, new(Loader).check(path))

	// A file whose sections were removed ends with its segments.
	stripped := append([]byte(nil), whole...)
	const sectionOffset, sectionCount, programOffset, firstFileSize = 40, 60, 32, 32
	binary.NativeEndian.PutUint64(stripped[sectionOffset:], 0)
	binary.NativeEndian.PutUint16(stripped[sectionCount:], 0)
	write(t, path, stripped)
	require.NoError(t, new(Loader).check(path))
	write(t, path, stripped[:8192])
	require.ErrorContains(t, new(Loader).check(path), "its segment ends at byte")
	programs := binary.NativeEndian.Uint64(stripped[programOffset:])
	binary.NativeEndian.PutUint64(stripped[programs+firstFileSize:], ^uint64(0))
	write(t, path, stripped)
	require.ErrorContains(t, new(Loader).check(path), "the file is incomplete", "an end beyond 64 bits")
}

// The loader refuses a file that is not a library, and does not map it.
func TestFilesThatAreNoLibrary(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{
		"empty": "", "short": "\x7fELF", "text": fmt.Sprintf("%100s", "text"), "32 bits": "\x7fELF\x01" + fmt.Sprintf("%100s", ""),
	} {
		write(t, filepath.Join(dir, name), []byte(data))
		require.NoError(t, new(Loader).check(filepath.Join(dir, name)), name)
	}
	require.ErrorIs(t, new(Loader).check(dir), errNotRegular)
	assert.NoError(t, new(Loader).check("/nowhere/"+libraryName))
}

func TestChangingFiles(t *testing.T) {
	whole := image(t)
	path := filepath.Join(t.TempDir(), libraryName)
	var l Loader
	write(t, path, whole)
	require.NoError(t, l.check(path))
	require.NoError(t, l.check(path))

	require.NoError(t, os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)))
	require.ErrorIs(t, l.check(path), ErrFileChanging)
	require.NoError(t, l.check(path), "it no longer changes")

	require.NoError(t, os.Remove(path))
	require.NoError(t, l.check(path), "the loader reports it")
	write(t, path, whole[:len(whole)/2])
	require.ErrorContains(t, l.check(path), "incomplete")
	write(t, path, whole)
	require.ErrorIs(t, l.check(path), ErrFileChanging)
	require.NoError(t, l.check(path))
}

// The file that the loader would find first is checked.
func TestSearchPath(t *testing.T) {
	whole := image(t)
	dir := t.TempDir()
	broken, good := filepath.Join(dir, "broken"), filepath.Join(dir, "good")
	other, none := filepath.Join(dir, "other"), filepath.Join(dir, "none")
	write(t, filepath.Join(broken, libraryName), whole[:len(whole)/2])
	write(t, filepath.Join(good, libraryName), whole)
	write(t, filepath.Join(other, libraryName), []byte("\x7fELF\x01"+fmt.Sprintf("%100s", "")))
	for name, tt := range map[string]struct {
		search searchPath
		broken bool
	}{
		"environment":              {searchPath{environment: none + ":" + broken, directories: []string{good}}, true},
		"environment before all":   {searchPath{environment: good, directories: []string{broken}}, false},
		"cache":                    {searchPath{cache: cacheOf(t, libraryName, filepath.Join(broken, libraryName)), directories: []string{good}}, true},
		"folders":                  {searchPath{cache: none, directories: []string{none, broken}}, true},
		"another architecture":     {searchPath{environment: other, directories: []string{broken}}, true},
		"nothing that is known of": {searchPath{environment: none, cache: none}, false},
	} {
		err := tt.search.check(new(fileChecker), libraryName)
		if tt.broken {
			assert.ErrorContains(t, err, "incomplete", name)
		} else {
			assert.NoError(t, err, name)
		}
	}
}

// cacheOf writes an ld.so.cache with one entry.
func cacheOf(t *testing.T, name, path string) string {
	t.Helper()
	n := binary.NativeEndian
	data := append([]byte("an older cache before it"), cacheMagic...)
	data = n.AppendUint32(data, 1)
	data = append(data, make([]byte, cacheHeaderSize-len(cacheMagic)-4)...)
	key := uint32(cacheHeaderSize + cacheEntrySize)
	data = n.AppendUint32(data, 0)
	data = n.AppendUint32(data, key)
	data = n.AppendUint32(data, key+uint32(len(name))+1)
	data = append(data, make([]byte, cacheEntrySize-12)...)
	data = append(data, name+"\x00"+path+"\x00"...)
	file := filepath.Join(t.TempDir(), "ld.so.cache")
	write(t, file, data)
	for cut := range data { // one that is cut anywhere names nothing that is not there
		write(t, file+".cut", data[:cut])
		for _, ok := range cached(file+".cut", name) {
			assert.Contains(t, path, ok)
		}
	}
	return file
}

// The system's own cache is understood.
func TestSystemCache(t *testing.T) {
	if _, err := os.Stat(defaultSearch.cache); err != nil {
		t.Skip(err)
	}
	assert.NotEmpty(t, cached(defaultSearch.cache, "libc.so.6"))
	for _, file := range cached(defaultSearch.cache, "libc.so.6") {
		assert.FileExists(t, file)
	}
}
