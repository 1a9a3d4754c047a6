// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"testing"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/leaktest"
)

func TestMain(m *testing.M) {
	kube.LogTo(zap.NewNop()) // before the first client of a parallel test is in use
	leaktest.VerifyTestMain(m)
}
