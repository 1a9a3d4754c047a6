// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package leaktest fails the tests of a package that leave goroutines behind.
package leaktest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// maxWait bounds the wait for goroutines that are ending. goleak itself waits 0.4 s, which is too short on a busy machine.
const maxWait = time.Minute

// VerifyTestMain runs the tests of a package and exits with an error if goroutines are left.
func VerifyTestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := find(); err != nil {
			fmt.Fprintf(os.Stderr, "goleak: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

// find returns nil when no goroutine is left, and the last error of goleak after maxWait.
func find() error {
	for deadline := time.Now().Add(maxWait); ; {
		err := goleak.Find()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
