// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

// severity returns the severity of an event. docs/reference/events.md has the rule.
func severity(e *gpu.Event) plog.SeverityNumber {
	switch e.Type {
	case gpu.EventXID:
		entry, _ := xid.Lookup(e.XID)
		return xidSeverities[entry.Read(e.Detail).Severity]
	case gpu.EventStatus:
		return stateSeverities[e.State]
	case gpu.EventSourceFailed, gpu.EventThrottledStarted:
		return plog.SeverityNumberWarn
	case gpu.EventPodFinished, gpu.EventPodPending, gpu.EventPodRestarted, gpu.EventPodEvicted, gpu.EventPodDeleted:
		return podSeverity(e)
	default:
		if fault, ok := faultOf(e); ok {
			return fault.severity
		}
		return plog.SeverityNumberInfo
	}
}

var stateSeverities = [gpu.NumStates]plog.SeverityNumber{
	gpu.StateOK: plog.SeverityNumberInfo, gpu.StateDegraded: plog.SeverityNumberWarn, gpu.StateFailed: plog.SeverityNumberError,
	gpu.StatePredictedFailure: plog.SeverityNumberWarn,
}

// A code that is not in the catalogue is a warning: most codes report a fault of a program.
var xidSeverities = map[xid.Severity]plog.SeverityNumber{
	xid.SeverityInfo: plog.SeverityNumberInfo, xid.SeverityWarning: plog.SeverityNumberWarn, xid.SeverityError: plog.SeverityNumberError,
	xid.SeverityFatal: plog.SeverityNumberFatal,
}

// podSeverity returns the severity of an event of a pod: an error if work failed, a warning if it does not go on.
func podSeverity(e *gpu.Event) plog.SeverityNumber {
	oomKilled := e.Pod.Container != nil && e.Pod.Container.Reason == "OOMKilled"
	switch {
	case oomKilled, e.Type == gpu.EventPodFinished && e.Pod.Phase == "Failed":
		return plog.SeverityNumberError
	case e.Type == gpu.EventPodPending, e.Type == gpu.EventPodRestarted, e.Type == gpu.EventPodEvicted, !e.Pod.LastSeen.IsZero():
		return plog.SeverityNumberWarn
	default:
		return plog.SeverityNumberInfo
	}
}
