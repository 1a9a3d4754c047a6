// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A child in a session of its own is in no process group of the tool's.
func TestChildInASessionOfItsOwn(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("needs setsid")
	}
	for name, end := range map[string]string{"the tool ends": "", "the tool is killed": "exec sleep 300"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // it waits
			pidFile := filepath.Join(t.TempDir(), "pid")
			l := script(t, `setsid sh -c 'echo $$ >`+pidFile+`; sleep 300; :' >/dev/null 2>&1 &
while ! [ -s `+pidFile+` ]; do :; done
`+end)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // in which a slow machine starts them
			defer cancel()
			_, err := l.Run(ctx, Command{Tool: NvidiaSMI})
			assert.Equal(t, end == "", err == nil)
			text, err := os.ReadFile(pidFile)
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			assert.Eventually(t, func() bool { return gone(pid) }, time.Minute, 5*time.Millisecond, "process %d still runs", pid)
		})
	}
}
