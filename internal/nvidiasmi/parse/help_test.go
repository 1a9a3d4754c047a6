// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHelp(t *testing.T) {
	names := Help(testdata(t, "help/query-gpu-465.txt"))
	for _, n := range []string{"uuid", "gpu_uuid", "clocks_throttle_reasons.sw_power_cap", "clocks.gr", "retired_pages.dbe", "mig.mode.current"} {
		assert.True(t, names[n], n)
	}
	assert.False(t, names["Not Active"], "what is quoted within a sentence is no field")
	assert.False(t, names["memory.reserved"])
	assert.Empty(t, Help([]byte("nvidia-smi: not found\n")))
	assert.Empty(t, Help(nil))
}
