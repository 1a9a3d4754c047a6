// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

// verifyNoLeaks runs the tests in place of the call that mdatagen generates after it, which does not wait long enough.
func verifyNoLeaks(m *testing.M) { leaktest.VerifyTestMain(m) }
