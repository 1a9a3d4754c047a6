// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A call that concerns no single GPU hangs: the GPUs are read, and a problem says that XIDs and new GPUs are not seen.
func TestCallOfNoGPUHangs(t *testing.T) {
	for _, function := range []string{"nvmlEventSetWait", "nvmlDeviceGetCount"} {
		t.Run(function, func(t *testing.T) {
			b := start(t, "gpus = 2")
			b.read()
			b.set("[fault f]\nfunction = " + function + "\nhang = true")
			for _, n := range []*gpu.Node{b.readUntilHung(1), b.read(), b.read()} {
				healthy(t, n, 2)
				require.ErrorContains(t, problem(t, n, "events").Err, "has not returned")
			}
			b.unhang("")
			n := b.read()
			healthy(t, n, 2)
			assert.Empty(t, n.Problems)
		})
	}
}
