// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// TestReadInPages: sysfs gives a binary file, which gpu_metrics becomes in later kernels, a page at a time.
func TestReadInPages(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 600)
	for _, length := range []int{0, 5, 4095, 4096, 4097, 8192, 9600} {
		root := t.TempDir()
		fifo := filepath.Join(root, "gpu_metrics")
		require.NoError(t, unix.Mkfifo(fifo, 0o600))
		written := make(chan struct{})
		go func() {
			defer close(written)
			f, err := os.OpenFile(fifo, os.O_WRONLY, 0)
			if !assert.NoError(t, err) {
				return
			}
			defer f.Close()
			for left := want[:length]; len(left) > 0; {
				n := min(len(left), 4096)
				if _, err := f.Write(left[:n]); err != nil {
					return // the reader wants no more
				}
				left = left[n:]
				for { // until it was taken
					waiting, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
					if err != nil || waiting == 0 {
						break
					}
				}
			}
		}()
		d, err := openDir(root)
		require.NoError(t, err)
		got, err := d.read("gpu_metrics", make([]byte, 16<<10))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want[:length], got), "%d bytes of %d", len(got), length)
		d.close()
		<-written
	}
}

// TestLongTable: a table that describes itself may be longer than a page.
func TestLongTable(t *testing.T) {
	var w tableWriter
	for range 11 {
		w.add(attributeID(900), 6, 0, make([]uint64, 120)...)
	}
	w.add(attributePower, 2, 0, 512)
	m := amdgpusim.MI300XSPX()
	for _, c := range m.Cards {
		c.Readings.Instant = amdgpusim.None
	}
	tree, source, _ := simulate(t, m, gpu.GroupPower)
	table := w.table(1, 9)
	require.Greater(t, len(table), 8<<10)
	require.NoError(t, os.WriteFile(tree.Path(m.Cards[0].Dir()+"/gpu_metrics"), table, 0o600))
	node := read(t, source)
	assert.Empty(t, node.Problems)
	assert.Equal(t, gpu.Some(512.0), node.Devices[0].Power.Draw)
}
