// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func writeLog(t *testing.T, text string) string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(log, []byte(text), 0o600))
	return log
}

func TestReasons(t *testing.T) {
	const line = "2026-11-22T10:00:01.000Z\twarn\tRead failed\t{\"scraper\": \"nvml\", \"what\": \"library\", \"reason\": \"no library; install the driver\\nmore\"}\n"
	assert.Equal(t, []string{"library: no library; install the driver"}, Reasons(writeLog(t, "2026-11-22T10:00:00.000Z\tinfo\tstarted {\n"+line+line)))
	assert.Empty(t, Reasons(filepath.Join(t.TempDir(), "none")))
	assert.Empty(t, Reasons(t.TempDir()))

	var many strings.Builder
	for i := range 20 {
		many.WriteString("warn\t{\"what\": \"w" + string(rune('a'+i)) + "\", \"reason\": \"r\"}\n")
	}
	assert.Equal(t, []string{"wq: r", "wr: r", "ws: r", "wt: r"}, Reasons(writeLog(t, many.String())))
}

// Only the end of a long log is read.
func TestLongLog(t *testing.T) {
	const first, last = "warn\t{\"what\": \"first\", \"reason\": \"r\"}\n", "warn\t{\"what\": \"last\", \"reason\": \"r\"}\n"
	log := writeLog(t, first+strings.Repeat("x", maxLogBytes)+"\n"+last)
	assert.Equal(t, []string{"last: r"}, Reasons(log))
	assert.Len(t, readEnd(log), maxLogBytes)
	assert.True(t, strings.HasSuffix(lastLines(log), strings.TrimSpace(last)))
	assert.Equal(t, "2\n3\n4\n5\n6", lastLines(writeLog(t, "1\n2\n3\n4\n5\n6\n\n")))
}

func FuzzReasons(f *testing.F) {
	f.Add("warn\t{\"what\": \"w\", \"reason\": \"r\"}\n{\n{}")
	path := filepath.Join(f.TempDir(), "log")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		assert.LessOrEqual(t, len(Reasons(path)), maxReasons)
	})
}
