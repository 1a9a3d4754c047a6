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
	for name, hangs := range map[string]bool{"the tool ends": false, "the tool is killed": true} {
		t.Run(name, func(t *testing.T) {
			pidFile, ready := filepath.Join(t.TempDir(), "pid"), filepath.Join(t.TempDir(), "ready")
			ctx, end := t.Context(), ""
			if hangs {
				ctx, end = endsWith(t, ready, context.DeadlineExceeded), ">"+ready+"; exec sleep 300"
			}
			l := script(t, `setsid sh -c 'echo $$ >`+pidFile+`; sleep 300; :' >/dev/null 2>&1 &
while ! [ -s `+pidFile+` ]; do :; done
`+end)
			_, err := l.Run(ctx, Command{Tool: NvidiaSMI})
			assert.Equal(t, hangs, err != nil)
			text, err := os.ReadFile(pidFile)
			require.NoError(t, err)
			pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
			require.NoError(t, err)
			assert.Eventually(t, func() bool { return processEnded(pid) }, time.Minute, 5*time.Millisecond, "process %d still runs", pid)
		})
	}
}
