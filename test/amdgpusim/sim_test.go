// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpusim

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMachines: every machine can be written, and every link of /sys leads somewhere.
func TestMachines(t *testing.T) {
	for name, build := range Machines() {
		t.Run(name, func(t *testing.T) {
			m := build()
			assert.Equal(t, name, m.Name)
			tree, err := Write(t.TempDir(), m)
			require.NoError(t, err)
			links := 0
			require.NoError(t, filepath.WalkDir(tree.Path("sys"), func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.Type()&fs.ModeSymlink == 0 {
					return err
				}
				links++
				target, err := os.Readlink(path)
				assert.False(t, filepath.IsAbs(target), "%s leads out of the tree", path)
				if err == nil {
					_, err = os.Stat(path)
				}
				return err
			}))
			assert.Positive(t, links)
			for _, c := range m.Cards {
				text, err := os.ReadFile(tree.Path(c.Dir() + "/gpu_metrics"))
				require.NoError(t, err)
				assert.Equal(t, len(text), int(binary.LittleEndian.Uint16(text)), "its header gives its size")
			}
		})
	}
}

func TestWriteFails(t *testing.T) {
	root := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(root, nil, 0o600))
	_, err := Write(root, MI100())
	require.Error(t, err)
}

func TestBlank(t *testing.T) {
	table := Blank(&MetricsV1x8{}, 1, 8)
	text := Encode(table)
	assert.Equal(t, []byte{0x20, 0x0f, 1, 8}, text[:4])
	assert.Equal(t, len(text)-4, bytes.Count(text[4:], []byte{0xff}))
}
