// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// setStatus sets the new state of a device, why, what to do, the state before, the holders and users of the device, and the sum of changes.
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
	action, advice := statusAction(e)
	a.text("hw.gpu.recommended_action", action)
	if previous, ok := e.Previous.Get(); ok {
		a.text("hw.gpu.previous_state", states[previous].String())
	}
	a.seconds("hw.gpu.previous_state_duration", e.Lasted)
	a.sum(e)
	a.containers(e)
	record.Body().SetStr(statusText(e, advice))
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

// statusAction is what to do first, and the advice for people: what the driver requests, else what the most urgent fault needs.
func statusAction(e *gpu.Event) (name, advice string) {
	if len(e.Faults) == 0 {
		return "", ""
	}
	if requested := recoveryAction(e.RecoveryAction, e.RecoveryWord); requested != "" && requested != recoveryActions[gpu.RecoveryNone] {
		return gpu.RemedyFor(gpu.FaultRecovery).Action, "" // the fault's message says what the driver requests
	}
	remedy := gpu.RemedyFor(e.Faults...)
	return remedy.Action, remedy.First
}
