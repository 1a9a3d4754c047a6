// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// rowsTool is a tool whose --query-gpu has no remapped rows, such as driver 535.
func rowsTool(t *testing.T) *tool {
	t.Helper()
	f := tableTool(t, slices.DeleteFunc(allNames(), func(n string) bool { return len(n) > 8 && n[:8] == "remapped" }))
	f.rows = answer{stdout: "gpu_uuid, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n" +
		"GPU-a, 3, 1, 1, 0\nGPU-b, 0, 0, 0, 1\n"}
	return f
}

// Rows that wait to be remapped, or could not be, predict a failure in the fast query, too.
func TestRemappedRowsOfTheFastQuery(t *testing.T) {
	f := rowsTool(t)
	r := newReader(t, QueryFast, f, newClock())
	for range 2 {
		node := read(t, r)
		assert.Empty(t, problems(node))
		d := deviceOf(t, node, "GPU-a")
		assert.Equal(t, gpu.RemappedRows{
			Corrected: gpu.Total(int64(3)), Uncorrected: gpu.Total(int64(1)), Pending: gpu.Some(true), Failed: gpu.Some(false),
		}, d.RemappedRows)
		assert.Equal(t, []gpu.FaultType{gpu.FaultRemapPending}, faults(d))
		assert.Equal(t, gpu.StatePredictedFailure, d.State())
		d = deviceOf(t, node, "GPU-b")
		assert.Equal(t, []gpu.FaultType{gpu.FaultRemapFailed}, faults(d))
	}
	assert.Equal(t, 2, f.calls("rows"))

	f = rowsTool(t)
	f.t = t
	read(t, New(Config{Query: QueryFast}, f, gpu.GroupTemperature))
	assert.Zero(t, f.calls("rows"), "they are not wanted")

	f = tableTool(t, allNames())
	read(t, newReader(t, QueryFast, f, newClock()))
	assert.Zero(t, f.calls("rows"), "the table has them")
}

// A version without the switch is not queried again. Any other failure is a problem, as long as it lasts.
func TestRemappedRowsCannotBeRead(t *testing.T) {
	const option = "--query-remapped-rows"
	for name, tt := range map[string]struct {
		rows answer
		asks int // in three reads
		says string
	}{
		"no such switch":  {answer{stdout: "ERROR: Option " + option + " is not recognized. Please run 'nvidia-smi -h'.\n\n", exit: 255}, 1, ""},
		"no such field":   {answer{stdout: "Field \"remapped_rows.pending\" is not a valid field to query.\n\n", exit: 2}, 1, ""},
		"not supported":   {answer{stdout: "[N/A]\n"}, 3, "no table in its output"},
		"before Ampere":   {answer{stdout: "gpu_uuid, remapped_rows.pending\nGPU-a, [N/A]\nGPU-b, [N/A]\n"}, 3, ""},
		"crash":           {answer{stdout: "gpu_uuid, remapped_rows.pending\nGPU-a, 1\nGPU", exit: -1}, 3, "ends early"},
		"crash at first":  {answer{exit: -1}, 3, "exit code -1"},
		"hang":            {answer{err: fmt.Errorf("nvidia-smi: %w", command.ErrTimeout)}, 3, "did not end in time"},
		"another message": {answer{stdout: "Failed to initialize NVML: Unknown Error\n", exit: 255}, 3, "Unknown Error"},
	} {
		t.Run(name, func(t *testing.T) {
			f := rowsTool(t)
			f.rows = tt.rows
			r := newReader(t, QueryFast, f, newClock())
			for range 3 {
				node := read(t, r)
				assert.Len(t, node.Devices, 2)
				assert.Nil(t, node.Failure)
				assert.False(t, deviceOf(t, node, "GPU-b").RemappedRows.Pending.Known())
				if tt.says == "" {
					assert.Empty(t, problems(node))
				} else {
					require.Len(t, node.Problems, 1)
					assert.Equal(t, "remapped rows", node.Problems[0].What)
					require.ErrorContains(t, node.Problems[0].Err, tt.says)
				}
			}
			assert.Equal(t, tt.asks, f.calls("rows"))
		})
	}
}
