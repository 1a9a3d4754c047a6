// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// On a full disk the collector continues, reports the problem, counts the dropped data, and delivers again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("a disk of its own needs root")
	}
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=64m,mode=0700"); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	ballast := filepath.Join(disk, "ballast") // not the queue fills the disk: it has a limit of its own
	require.NoError(t, os.WriteFile(ballast, make([]byte, 63<<20), 0o600))
	d := prepareDelivery(t, filepath.Join(disk, "storage"))
	d.start() // no server listens
	eventually(t, patience, "it is ready", func() bool { return strings.Contains(d.process.Output(), "Everything is ready") })

	dropped := func() float64 {
		for _, s := range readPage(t, d.page) {
			if strings.HasPrefix(s.Name, "otelcol_exporter_enqueue_failed_metric_points") {
				return s.Value
			}
		}
		return 0
	}
	eventually(t, patience, "drops are counted", func() bool { return dropped() > 0 })
	eventually(t, patience, "it says why", func() bool { return strings.Contains(d.process.Output(), "no space left on device") })
	d.grown(3) // the other exporters still receive data
	require.True(t, d.process.Running())

	require.NoError(t, os.Remove(ballast))
	before := len(d.timestamps())
	d.sinkUp()
	eventually(t, patience, "new messages arrive again", func() bool {
		messages := d.timestamps()
		return len(messages) > before+4 && len(d.lacking(messages[len(messages)-3:len(messages)-1])) == 0
	})
	t.Logf("dropped %.0f points", dropped())
	d.terminate()
	assert.NotContains(t, d.process.Output(), "panic:")
}
