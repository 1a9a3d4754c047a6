// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A record of a state says in words what changed, why, and what to do first.
func TestStatusText(t *testing.T) {
	tests := map[string]struct {
		event        gpu.Event
		body, action string
	}{
		"lost": {
			gpu.Event{
				Name: "nvidia0", Model: "NVIDIA H100", State: gpu.StateFailed, Previous: gpu.Some(gpu.StateOK), Lasted: gpu.Some(26 * time.Hour),
				Faults: []gpu.FaultType{gpu.FaultLost}, Message: "not on the PCI bus any more",
			},
			"nvidia0 (NVIDIA H100) has failed, was ok for 26h0m0s: not on the PCI bus any more; restart the node", "restart_bm",
		},
		"the most urgent fault": {
			gpu.Event{DeviceID: "GPU-1", State: gpu.StateFailed, Faults: []gpu.FaultType{gpu.FaultRemapPending, gpu.FaultHung}, Message: "rows; hung"},
			"GPU-1 has failed: rows; hung; stop what runs on the GPU and reset it", "reset_gpu",
		},
		"the driver requests an action": {
			gpu.Event{
				DeviceID: "GPU-1", State: gpu.StateDegraded, Faults: []gpu.FaultType{gpu.FaultDrain}, Message: "the driver asks for it",
				RecoveryAction: gpu.Some(gpu.RecoveryDrainP2P),
			},
			"GPU-1 is degraded: the driver asks for it", "follow_recovery_action",
		},
		"the driver requests nothing": {
			gpu.Event{
				DeviceID: "GPU-1", State: gpu.StatePredictedFailure, Faults: []gpu.FaultType{gpu.FaultRemapFailed}, Message: "no spare row",
				RecoveryAction: gpu.Some(gpu.RecoveryNone),
			},
			"GPU-1 is predicted to fail: no spare row; replace the GPU", "replace_gpu",
		},
		"well again": {
			gpu.Event{DeviceID: "GPU-1", State: gpu.StateOK, Previous: gpu.Some(gpu.StateDegraded), RecoveryAction: gpu.Some(gpu.RecoveryNone)},
			"GPU-1 is ok, was degraded", "",
		},
		"a sum": {
			gpu.Event{DeviceID: "GPU-1", State: gpu.StateOK, Previous: gpu.Some(gpu.StateOK), Count: 6, First: timeAt(10), Time: timeAt(100), Lasted: gpu.Some(time.Second)},
			"GPU-1 is ok after 6 changes in 1m30s", "",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.event.Type = gpu.EventStatus
			host := gpu.Host{Name: "node-a"}
			records := recordsOf(newEvents(nil).Record(&host, []gpu.Event{test.event}, observed))
			require.Len(t, records, 1)
			assert.Equal(t, test.body, records[0].Body().Str())
			action, _ := records[0].Attributes().Get("hw.gpu.recommended_action")
			assert.Equal(t, test.action, action.Str())
			count, summed := records[0].Attributes().Get("hw.gpu.event.count")
			assert.Equal(t, test.event.Count > 0, summed)
			if summed {
				assert.Equal(t, test.event.Count, count.Int())
			}
		})
	}
}

// docs/reference/events/gpu.md#state-of-a-gpu has the faults by urgency, with their actions.
func TestDocumentedFaultActions(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/events/gpu.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "| fault | action |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+`) \\| `(.+)` \\|$").FindAllStringSubmatch(table, -1) {
		for fault := range strings.SplitSeq(row[1], ", ") {
			documented = append(documented, strings.Trim(fault, "`")+" "+row[2])
		}
	}
	var all []string
	for _, r := range gpu.Remedies {
		all = append(all, r.Name+" "+r.Action)
	}
	assert.Equal(t, all, documented)
}
