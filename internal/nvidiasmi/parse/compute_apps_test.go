// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Every column of the table of processes, under each of its names.
func TestAppColumns(t *testing.T) {
	want := Process{PID: 7, UUID: "GPU-1", PCI: "0000:0a:00.0", Name: "/a", Memory: gpu.Some[int64](5 << 20)}
	for _, heading := range []string{
		"timestamp, gpu_name, gpu_serial, gpu_uuid, gpu_bus_id, pid, used_gpu_memory [MiB], process_name",
		"timestamp, gpu_name, gpu_serial, gpu_uuid, gpu_bus_id, pid, used_memory [MiB], name",
	} {
		apps, ok, dropped := ComputeApps([]byte(heading+"\n2026, A, 1, GPU-1, 00000000:0A:00.0, 7, 5 MiB, /a\n"+
			"2026, A, 1, [N/A], [N/A], 8, [N/A], [N/A]\n2026, A, 1, GPU-1, 00000000:0A:00.0, [N/A], 5 MiB, /a\n1, 2\n"), nil)
		assert.True(t, ok)
		assert.Equal(t, 2, dropped, "a row without a PID, and one that was cut off")
		assert.Equal(t, []Process{want, {PID: 8}}, apps)
	}
}
