// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command/commandtest"
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// TestFloodingTool: each call of nvidia-smi prints without end. The collector goes on reading, and has less than 150 MiB in memory at any
// time. The cases of one receiver are in receiver/flood_linux_test.go.
func TestFloodingTool(t *testing.T) {
	for name, script := range map[string]string{
		"garbage": `exec cat /dev/zero`,
		"GPUs":    `echo '<nvidia_smi_log>'; exec yes '<gpu id="00000000:01:00.0"><uuid>GPU-1</uuid></gpu>'`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "nvidia-smi")
			commandtest.WriteScript(t, path, script)
			n := start(t, spec{
				nvml: "NONE", interval: "1s",
				replace: map[string]string{"nvml: NONE": fmt.Sprintf("nvidia_smi: {path: %q}", path)},
			})
			n.scrapes(8)
			highest, err := harness.HighestMemory(n.process.PID())
			require.NoError(t, err)
			t.Logf("%d MiB", highest>>20)
			assert.Less(t, highest, int64(150<<20))
		})
	}
}
