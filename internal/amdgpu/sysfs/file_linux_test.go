// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
			for rest := want[:length]; len(rest) > 0; {
				n := min(len(rest), 4096)
				if _, err := f.Write(rest[:n]); err != nil {
					return // the reader wants no more
				}
				rest = rest[n:]
				for { // until it was taken
					waiting, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ)
					if err != nil || waiting == 0 {
						break
					}
				}
			}
		}()
		got, err := Read(fifo)
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want[:length], got), "%d bytes of %d", len(got), length)
		<-written
	}
}
