// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"testing"
	"time"

	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

// asOtelgpu makes this program act as otelgpu.
const asOtelgpu = "OTELGPU_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asOtelgpu) != "" {
		os.Exit(execute(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	time.Local = time.UTC // tables have times of this machine
	leaktest.VerifyTestMain(m)
}
