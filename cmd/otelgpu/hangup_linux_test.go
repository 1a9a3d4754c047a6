// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/signal"
	"syscall"
	"testing"
)

// notifyHangUp lets children obey SIGHUP. Under nohup this process ignores it, and its children would inherit that. A handled signal is reset
// to the default in children.
func notifyHangUp(t *testing.T) {
	t.Helper()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	t.Cleanup(func() { signal.Reset(syscall.SIGHUP) })
}
