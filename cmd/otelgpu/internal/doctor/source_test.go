// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// Without the driver's library, a GPU that needs it is a failure, although the scraper is not configured. A machine without GPUs says so.
func TestMissingLibrary(t *testing.T) {
	none := [gpu.NumPresences]gpu.Opt[int64]{gpu.Missing: gpu.Some[int64](0), gpu.Unmanaged: gpu.Some[int64](0)}
	missing, unmanaged := none, none
	missing[gpu.Missing], unmanaged[gpu.Unmanaged] = gpu.Some[int64](1), gpu.Some[int64](1)
	for name, c := range map[string]struct {
		presence [gpu.NumPresences]gpu.Opt[int64]
		other    bool
		want     Check
	}{
		"no GPU":                      {none, false, Check{State: Absent, Found: "no GPU of this vendor on the PCI bus; no library"}},
		"a GPU":                       {missing, false, Check{State: Failed, Found: "GPUs: 1 missing; no library"}},
		"a GPU with another driver":   {unmanaged, true, Check{State: Failed, Found: "GPUs: 1 bound to another driver; no library"}},
		"reserved for a guest":        {unmanaged, false, Check{State: Absent, Found: "GPUs: 1 bound to another driver; no library"}},
		"the bus could not be listed": {want: Check{State: Absent, Found: "GPUs: their number is unknown; no library"}},
	} {
		t.Run(name, func(t *testing.T) {
			failure := &gpu.Failure{Reason: gpu.FailureLibrary, Err: errors.New("no library")}
			s := Section{}
			s.addNode(&gpureceiver.LocalRead{Scraper: "nvml", Vendor: gpu.NVIDIA, Optional: true, Node: &gpu.Node{
				Presence: c.presence, OtherDriver: c.other, Failure: failure, Problems: []gpu.Problem{{Kind: gpu.ProblemSource, What: "library", Err: failure.Err}},
			}})
			c.want.Subject, c.want.Reason = "source", "library"
			assert.Equal(t, []Check{c.want}, s.Checks, "the reason is said once")
		})
	}
}
