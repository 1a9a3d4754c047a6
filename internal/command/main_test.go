// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"testing"

	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }
