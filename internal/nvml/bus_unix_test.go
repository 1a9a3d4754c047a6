// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package nvml

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestBlockedBus: a file of the PCI bus that does not answer does not delay a read for long, and the result of the last scan stays. A FIFO
// without a writer represents it.
func TestBlockedBus(t *testing.T) {
	for _, file := range []string{"vendor", "class"} {
		t.Run(file, func(t *testing.T) {
			sys := t.TempDir()
			pciDevice(t, sys, "0000:1b:00.0", "0x10de", "0x030000", "nvidia")
			pciDevice(t, sys, "0000:1c:00.0", "0x10de", "0x030000", "nvidia")
			known, fresh := newBus(sys, time.Hour), newBus(sys, time.Millisecond)
			known.scan(t.Context(), true)
			path := filepath.Join(sys, "bus/pci/devices/0000:1b:00.0", file)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o600))
			known.patience = time.Millisecond
			for range 20 {
				known.scan(t.Context(), true)
				functions, listed := known.functions()
				assert.True(t, listed)
				assert.Len(t, functions, 2)
				fresh.scan(t.Context(), true)
				_, listed = fresh.functions()
				assert.False(t, listed)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0) // which need not wait for another end
			require.NoError(t, err)
			require.NoError(t, os.Remove(path))
			require.NoError(t, os.WriteFile(path, text, 0o600))
			require.NoError(t, f.Close())
			for _, b := range []*bus{known, fresh} {
				b.patience = time.Hour
				require.Eventually(t, func() bool {
					b.scan(t.Context(), true)
					functions, _ := b.functions()
					return len(functions) == 2
				}, time.Minute, time.Millisecond)
			}
		})
	}
}
