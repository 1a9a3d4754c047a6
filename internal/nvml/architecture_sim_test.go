// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A GPU before Ampere retires pages. Rows that its driver answers for nevertheless are not sent.
func TestRowsAreRemappedSinceAmpere(t *testing.T) {
	const answers = "remapped.corrected = 0\nremapped.uncorrected = 0\nremapped.pending = 1\nremapped.failure = 1\n" +
		"retired.sbe = 3\nretired.dbe = 2\nretired.pending = 0\n"
	for name, fault := range map[string]string{
		"fields": "", "functions": "[fault f]\nfunction = nvmlDeviceGetFieldValues\nreturn = NOT_SUPPORTED\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, "gpus = 2\n[gpu 0]\nboard = turing\n"+answers+"[gpu 1]\nboard = a100\nremapped.corrected = 4\n"+fault)
			for range 2 {
				n := b.read()
				turing, ampere := gpuAt(t, n, 0), gpuAt(t, n, 1)
				assert.Empty(t, turing.RemappedRows)
				assert.Equal(t, gpu.StateOK, turing.State(), turing.Faults)
				if fault == "" {
					assert.Equal(t, gpu.Total[int64](3), turing.RetiredPages.Corrected)
				}
				assert.Equal(t, gpu.Total[int64](4), ampere.RemappedRows.Corrected)
				assert.Empty(t, ampere.RetiredPages)
			}
		})
	}
}
