// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package process

import (
	"errors"
	"os"
)

// readFile reads the beginning of a file, up to the length of buf.
func readFile(name string, buf []byte) (int, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	return f.Read(buf)
}

func keepFile(string) (int, error) { return 0, errors.ErrUnsupported }

func rereadFile(int, []byte) (int, error) { return 0, errors.ErrUnsupported }

func closeFile(int) {}
