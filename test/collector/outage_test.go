// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// The outage is over after a few messages unless GPURECEIVER_OUTAGE says otherwise: `make delivery` takes ten minutes.
func outage(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(cmp.Or(os.Getenv("GPURECEIVER_OUTAGE"), "0s"))
	require.NoError(t, err)
	return length
}

// An outage, a restart within it and a SIGTERM right after it lose no message.
func TestOutageLosesNothing(t *testing.T) {
	t.Parallel()
	d := prepareDelivery(t, filepath.Join(t.TempDir(), "storage"))
	down := d.sinkUp()
	d.start()
	eventually(t, patience, "messages arrive", func() bool { n, _ := d.sink.Messages(); return n >= 3 })

	down()
	time.Sleep(outage(t) / 2)
	d.grown(4)
	d.terminate()
	d.start()
	eventually(t, patience, "the second run reads", func() bool { return strings.Contains(d.process.Output(), "Everything is ready") })
	time.Sleep(outage(t) / 2)
	d.grown(4)
	d.sinkUp()
	d.terminate()
	messages := d.timestamps()
	require.Greater(t, len(messages), 8)

	d.start()
	eventually(t, patience+outage(t), "all have arrived", func() bool { return len(d.lacking(messages)) == 0 })
	d.terminate()
	t.Logf("%d messages made until the SIGTERM, none lost; %d arrived more than once", len(messages), repeated(d.sink.Times()))

	require.NoError(t, filepath.WalkDir(d.storage, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := entry.Info()
		require.NoError(t, err)
		want := fs.FileMode(0o600)
		if entry.IsDir() {
			want = 0o700
		}
		assert.Equal(t, want, info.Mode().Perm(), path)
		return nil
	}))
}

func repeated(times map[pcommon.Timestamp]int) (n int) {
	for _, count := range times {
		if count > 1 {
			n++
		}
	}
	return n
}
