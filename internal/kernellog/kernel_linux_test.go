// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// This machine's kernel brings the lines that a test writes into its log, by both methods, with the time at which they were written. It marks
// them as lines of a program, which a Follower leaves out by default.
func TestThisKernel(t *testing.T) {
	device, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) {
		t.Skip("the kernel's log of this machine may not be written, so the methods were not tried on it: ", err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, device.Close()) }()
	for _, method := range []string{MethodKmsg, MethodSyslog} {
		t.Run(method, func(t *testing.T) {
			cfg := DefaultConfig()
			cfg.Method = method
			received, none := make(chan []Event, 100), make(chan []Event, 100)
			log, err := openLog(cfg)
			if errors.Is(err, os.ErrPermission) {
				t.Skip("the kernel's log of this machine may not be read by this method: ", err)
			}
			require.NoError(t, err)
			f := New(cfg, func(events []Event) { received <- events })
			f.open, f.programs = func() (source, error) { return log, nil }, true
			other := New(cfg, func(events []Event) { none <- events })
			opened := make(chan struct{})
			other.open = func() (source, error) { defer close(opened); return openLog(cfg) }
			f.Start()
			other.Start()
			defer f.Close()
			defer other.Close()
			<-opened
			pid := int64(os.Getpid())
			for n := range 2 {
				before := time.Now()
				_, err = fmt.Fprintf(device, "<3>NVRM: Xid (PCI:0000:9b:00): %d, pid=%d, name=the test, not \"real\"; é\n", 79+n, pid)
				require.NoError(t, err)
				e := comesBack(t, f, received, pid)
				assert.EqualValues(t, 79+n, e.XID)
				assert.Equal(t, gpuAddress, e.Address)
				assert.Equal(t, "the test", e.Process)
				assert.Equal(t, "not \"real\"; é", e.Text)
				assert.WithinRange(t, e.Time, before.Add(-2*time.Second), time.Now(), "no sooner than written, but for the drift of the clocks")
				t.Logf("%s: time is %s after the writing", method, e.Time.Sub(before))
			}
			other.Close()
			assert.Empty(t, none, "a program may invent no fault")
			require.NoError(t, f.Problem())
		})
	}
}

// comesBack waits for the only line of a process. The log is the machine's: this test may run there in other processes.
func comesBack(t *testing.T, f *Follower, received <-chan []Event, pid int64) Event {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case events := <-received:
			events = slices.DeleteFunc(events, func(e Event) bool { return e.PID != gpu.Some(pid) })
			if len(events) > 0 {
				require.Len(t, events, 1)
				return events[0]
			}
		case <-late:
			require.FailNow(t, "the line did not come back", "%v", f.Problem())
		}
	}
}

// What is at the path decides; each failure is one error that says what to do.
func TestOpenLog(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	cfg := Config{Method: MethodKmsg, RootPath: root}
	_, err := openLog(cfg)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "dev/kmsg: no such file")
	require.ErrorContains(t, err, "CAP_SYSLOG")
	require.NoError(t, os.Mkdir(filepath.Join(root, "dev"), 0o755))
	require.NoError(t, unix.Mkfifo(filepath.Join(root, "dev/kmsg"), 0o600))
	_, err = openLog(cfg)
	require.ErrorIs(t, err, syscall.ESPIPE)
	require.NoError(t, os.Remove(filepath.Join(root, "dev/kmsg")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "dev/kmsg"), nil, 0o600))
	f := New(cfg, func([]Event) {})
	f.Start()
	f.Close() // a file does not wake up its readers; Close does
	require.NoError(t, f.Problem())
}
