// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxRecord is larger than any record of /dev/kmsg: a read with a smaller buffer fails.
const maxRecord = 16 << 10

// kmsg is the device /dev/kmsg. Each read returns one record.
type kmsg struct {
	file   *os.File
	buffer []byte
}

// openKmsg opens the device, past what the log has.
func openKmsg(path string) (*kmsg, error) {
	// Not blocking: Go waits in its poller, and a close ends the wait.
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0) //nolint:gosec // the configured path
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(fmt.Errorf("go to the end of the log: %w", err), file.Close())
	}
	return &kmsg{file: file, buffer: make([]byte, maxRecord)}, nil
}

func (k *kmsg) close() error { return ignoreClosed(k.file.Close()) }

// read implements source.
func (k *kmsg) read(ctx context.Context) ([]Record, error) {
	defer context.AfterFunc(ctx, func() { _ = k.file.Close() })()
	n, err := k.file.Read(k.buffer)
	switch {
	case errors.Is(err, syscall.EPIPE), errors.Is(err, syscall.EINVAL): // EINVAL: a record longer than the buffer, which is skipped
		return nil, errOverrun
	case errors.Is(err, io.EOF), errors.Is(err, syscall.EAGAIN): // not a device that wakes up its readers
		wait(ctx, pollPeriod)
		return nil, nil
	case err != nil:
		return nil, err
	}
	record, err := ParseKmsg(k.buffer[:n])
	if err != nil {
		return nil, nil //nolint:nilerr // a record in another form reports nothing that we know
	}
	return []Record{record}, nil
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
