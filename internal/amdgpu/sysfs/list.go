// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package sysfs

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadList returns the content of a file from which the kernel returns whole lines in each read. There, a read of less than a page is not the
// end of the file. More than limit bytes are an error.
func ReadList(path string, limit int) ([]byte, error) {
	f, err := os.Open(path) //nolint:gosec // below the root that is configured
	if err != nil {
		return nil, Errno(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return readList(f, limit)
}

// readList reads with room for a whole page each time. With less room the kernel might return nothing, as at the end of the file.
func readList(f io.Reader, limit int) ([]byte, error) {
	var text []byte
	lines := make([]byte, page)
	for len(text) <= limit {
		n, err := f.Read(lines)
		text = append(text, lines[:n]...)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, Errno(err)
		}
		if n == 0 {
			return text, nil
		}
	}
	return nil, fmt.Errorf("more than %d bytes: %w", limit, ErrFormat)
}
