// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setStatus sets the new state of a device, why, what to do, the state before, who had the device, and the sum of changes.
func setStatus(record plog.LogRecord, e *gpu.Event) {
	a := attributes{record.Attributes()}
	a.text("hw.state", states[e.State].String())
	if len(e.Faults) > 0 {
		types := a.PutEmptySlice("hw.gpu.faults")
		for _, fault := range e.Faults {
			types.AppendEmpty().SetStr(faultTypes[fault])
		}
	}
	a.text("hw.gpu.recovery.action", recoveryAction(e.RecoveryAction, e.RecoveryWord))
	action := statusAction(e)
	a.text("hw.gpu.recommended_action", action.name)
	if previous, ok := e.Previous.Get(); ok {
		a.text("hw.gpu.previous_state", states[previous].String())
	}
	a.seconds("hw.gpu.previous_state_duration", e.Lasted)
	a.sum(e)
	a.containers(e)
	record.Body().SetStr(statusText(e, action.advice))
}

var (
	stateWords = [gpu.NumStates]string{
		gpu.StateOK: "is ok", gpu.StateDegraded: "is degraded", gpu.StateFailed: "has failed", gpu.StatePredictedFailure: "is predicted to fail",
	}
	pastStateWords = [gpu.NumStates]string{
		gpu.StateOK: "ok", gpu.StateDegraded: "degraded", gpu.StateFailed: "failed", gpu.StatePredictedFailure: "predicted to fail",
	}
)

// statusText is the body of the record: nvidia0 (NVIDIA H100) has failed, was ok for 24h0m0s: it is not on the PCI bus any more; restart the node.
func statusText(e *gpu.Event, advice string) string {
	text := deviceText(e) + " " + stateWords[e.State]
	if e.Count > 0 {
		text += fmt.Sprintf(" after %d changes in %s", e.Count, e.Time.Sub(e.First).Round(time.Second))
	} else if previous, ok := e.Previous.Get(); ok {
		text += ", was " + pastStateWords[previous]
		if lasted, ok := e.Lasted.Get(); ok {
			text += fmt.Sprintf(" for %s", lasted.Round(time.Second))
		}
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if advice != "" {
		text += "; " + advice
	}
	return text
}

// faultAction is what to do first about a fault.
type faultAction struct {
	name   string // hw.gpu.recommended_action
	advice string // for people; empty where the fault's message says it
}

// faultActions are by fault. They agree with the remedies that the view gives.
var faultActions = [gpu.NumFaultTypes]faultAction{
	gpu.FaultLost:           {"restart_bm", "restart the node"},
	gpu.FaultResetRequired:  {"reset_gpu", "reset the GPU"},
	gpu.FaultHung:           {"reset_gpu", "end what runs on the GPU and reset it"},
	gpu.FaultDriverMismatch: {"restart_collector", "restart the collector"},
	gpu.FaultUnreachable:    {"restart_bm", "restart the node"},
	gpu.FaultRemapPending:   {"reset_gpu", "reset the GPU when its work allows it"},
	gpu.FaultRemapFailed:    {"replace_gpu", ""},
	gpu.FaultDrain:          {"drain_and_reset", "let its work end, then reset the GPU"},
	gpu.FaultRecovery:       {"follow_recovery_action", ""},

	gpu.FaultFabric:           {"check_fabric", "check the fabric manager and the NVLink switches"},
	gpu.FaultSRAMThreshold:    {"replace_gpu", "have the GPU replaced"},
	gpu.FaultBadPageThreshold: {"replace_gpu", "have the GPU replaced"},
	gpu.FaultInfoROM:          {"contact_support", "contact the vendor's support"},
}

// urgency has the faults in the order in which they are dealt with.
var urgency = [...]gpu.FaultType{
	gpu.FaultDriverMismatch, gpu.FaultLost, gpu.FaultUnreachable, gpu.FaultHung, gpu.FaultResetRequired, gpu.FaultRemapFailed,
	gpu.FaultSRAMThreshold, gpu.FaultBadPageThreshold, gpu.FaultDrain, gpu.FaultRecovery, gpu.FaultFabric, gpu.FaultInfoROM,
	gpu.FaultRemapPending,
}

// statusAction is what to do first: what the driver requests, else what the most urgent fault needs.
func statusAction(e *gpu.Event) faultAction {
	if len(e.Faults) == 0 {
		return faultAction{}
	}
	if requested := recoveryAction(e.RecoveryAction, e.RecoveryWord); requested != "" && requested != recoveryActions[gpu.RecoveryNone] {
		return faultActions[gpu.FaultRecovery]
	}
	for _, fault := range urgency {
		if slices.Contains(e.Faults, fault) {
			return faultActions[fault]
		}
	}
	return faultAction{}
}
