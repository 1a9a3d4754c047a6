// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdgpu/sysfs"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const badPage = "0x00012345 : 0x00001000 : R\n"

// readBadPagesOf reads the bad pages of a card below root.
func readBadPagesOf(t *testing.T, root string) (gpu.RetiredPages, *reader) {
	t.Helper()
	var b badPages
	var d gpu.Device
	r := &reader{readFile: sysfs.Read, dir: filepath.Join(root, "card")}
	b.read(r, root, "card1", &d)
	return d.RetiredPages, r
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

func TestBadPages(t *testing.T) {
	for text, want := range map[string]gpu.Opt[int64]{
		"": gpu.Some[int64](0), badPage: gpu.Some[int64](1), badPage + "0x00012346 : 0x00001000 : P\n": gpu.Some[int64](2),
		strings.Repeat(badPage, 144): gpu.Some[int64](144), strings.Repeat(badPage, 1000): gpu.Some[int64](1000),
		strings.Repeat(badPage, maxBadPages/len(badPage)+1): {}, "garbage": {}, badPage + "\n": {},
	} {
		root := t.TempDir()
		write(t, root+"/card/"+badPagesFile, text)
		got, r := readBadPagesOf(t, root)
		assert.Equal(t, want, got.Bad, "%d bytes", len(text))
		assert.Equal(t, !want.Known(), len(r.problems) == 1, "%.40s", text)
	}
	for err, problems := range map[error]int{syscall.ENOENT: 0, syscall.EACCES: 1, syscall.EIO: 1} {
		var b badPages
		var d gpu.Device
		r := &reader{readFile: func(string) ([]byte, error) { return nil, err }}
		b.read(r, "", "card1", &d)
		assert.Empty(t, d.RetiredPages, "%v", err)
		assert.Len(t, r.problems, problems, "%v", err)
	}
}

// TestBadPageLimit: debugfs has the limit in force. The parameter is a limit only if it is a number of pages.
func TestBadPageLimit(t *testing.T) {
	const inForce, parameter = "sys/kernel/debug/dri/1/ras/bad_page_cnt_threshold", "sys/module/amdgpu/parameters/bad_page_threshold"
	for name, tt := range map[string]struct {
		files map[string]string
		want  gpu.Opt[int64]
	}{
		"nothing is readable":       {},
		"in force":                  {map[string]string{inForce: "256\n", parameter: "300\n"}, gpu.Some[int64](256)},
		"only the parameter":        {map[string]string{parameter: "300\n"}, gpu.Some[int64](300)},
		"the driver's own":          {map[string]string{parameter: "-1\n"}, gpu.Opt[int64]{}},
		"the driver's formula":      {map[string]string{parameter: "-2\n"}, gpu.Opt[int64]{}},
		"switched off":              {map[string]string{inForce: "0\n", parameter: "0\n"}, gpu.Opt[int64]{}},
		"all bits":                  {map[string]string{inForce: "4294967295\n"}, gpu.Opt[int64]{}},
		"garbage":                   {map[string]string{inForce: "many\n"}, gpu.Opt[int64]{}},
		"of another card's debugfs": {map[string]string{"sys/kernel/debug/dri/0/ras/bad_page_cnt_threshold": "256\n"}, gpu.Opt[int64]{}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root+"/card/"+badPagesFile, badPage)
			for file, text := range tt.files {
				write(t, filepath.Join(root, file), text)
			}
			got, r := readBadPagesOf(t, root)
			assert.Equal(t, gpu.RetiredPages{Bad: gpu.Some[int64](1), BadLimit: tt.want}, got)
			assert.Empty(t, r.problems)
		})
	}
	root := t.TempDir()
	write(t, filepath.Join(root, inForce), "256\n")
	got, _ := readBadPagesOf(t, root)
	assert.Empty(t, got, "a GPU without the list")
}

func FuzzBadPages(f *testing.F) {
	f.Add(badPage)
	f.Add("0x : : \n")
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := countBadPages(text)
		if count, exists := n.Get(); exists {
			assert.True(t, ok)
			assert.LessOrEqual(t, count, int64(len(text)))
			assert.GreaterOrEqual(t, count, int64(0))
		}
	})
}
