// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// In another place the version is asked for anew, which may know other fields, and counters start anew; the GPUs are known
// still, so that one that is lost over it is told.
func TestReset(t *testing.T) {
	f := tableTool(t, []string{"index", "uuid", "pci.bus_id", "driver_version", "temperature.gpu"})
	f.pmon = answer{stdout: "Not supported on the device(s)\n", exit: 3}
	r := newReader(t, QueryFast, f, newClock())
	r.Reset()
	before := deviceOf(t, read(t, r), "GPU-a").Epoch
	assert.Zero(t, before, "nothing was read before")
	assert.Equal(t, before, deviceOf(t, read(t, r), "GPU-a").Epoch)
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon"}, {"xml"}, {"table", "apps"}}, f.batches)

	other := tableTool(t, []string{"index", "uuid", "pci.bus_id", "driver_version", "power.limit"})
	f.help, f.table, f.pmon, f.batches = other.help, other.table, other.pmon, nil
	r.Reset()
	node := read(t, r)
	assert.Equal(t, [][]string{{"help"}, {"table", "apps", "pmon"}, {"xml"}}, f.batches)
	d := deviceOf(t, node, "GPU-a")
	assert.Equal(t, gpu.Some(400.0), d.Power.Limit[gpu.LimitMax])
	after := d.Epoch
	assert.Greater(t, after, before)
	assert.Equal(t, after, deviceOf(t, read(t, r), "GPU-a").Epoch, "once")

	f.table = func(fields []string) answer {
		a := other.table(fields)
		a.stdout = a.stdout[:len(a.stdout)-len("1, GPU-b, 00000000:0B:00.0, 550.1, 400.00 W\n")]
		return a
	}
	r.Reset()
	node = read(t, r)
	assert.Equal(t, []string{"GPU-a", "GPU-b"}, ids(node))
	assert.Equal(t, []gpu.FaultType{gpu.FaultUnreachable}, faults(deviceOf(t, node, "GPU-b")))
}
