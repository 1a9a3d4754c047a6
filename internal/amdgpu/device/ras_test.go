// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package device

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func TestParseErrorCounts(t *testing.T) {
	got := parseErrorCounts("umc", "ue: 1\nce: 22\nde: 3\n")
	assert.Equal(t, []gpu.ErrorCount{
		{Type: gpu.ErrorUncorrected, Block: "umc", Count: gpu.Total[int64](1)},
		{Type: gpu.ErrorCorrected, Block: "umc", Count: gpu.Total[int64](22)},
		{Type: gpu.ErrorDeferred, Block: "umc", Count: gpu.Total[int64](3)},
	}, got)
	assert.Empty(t, parseErrorCounts("umc", "Query currently inaccessible\n"))
	assert.Empty(t, parseErrorCounts("umc", "ue: -1\nce: 18446744073709551615\n"))
}
