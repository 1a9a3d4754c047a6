// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/xid"
)

// ofGPU returns what is wrong with a GPU. Throttling is left out for a silent node, because it is unknown whether it goes on.
func ofGPU(n *view.Node, g *view.GPU) []view.Finding {
	base := view.Finding{Severity: view.SeverityWarning, Cluster: g.Cluster, Node: &g.Node, GPU: &g.ID, Index: g.Index}
	var all []view.Finding
	reported, hasReported := xids(base, g)
	if f, wrong := unhealthy(base, g); wrong {
		if hasReported && reported.Severity != view.SeverityInfo { // the XIDs of a GPU that does not work are why
			f.Detail += "; " + reported.Detail
			hasReported = false
		}
		all = append(all, f)
	}
	if f, wrong := remap(base, g); wrong {
		all = append(all, f)
	}
	if reasons := slices.DeleteFunc(slices.Clone(g.Throttled), view.ThrottledByDesign); len(reasons) > 0 && n.State != view.Stale {
		f := base
		f.Kind, f.What, f.Detail = "throttled", "Clocks are throttled", strings.Join(reasons, ", ")
		f.Remedy, f.Runbook = remedyOfThrottling(reasons), runbooks+"gputhrottled"
		f.Consequence = "Work on the GPU is slower, and so are jobs that wait for it."
		all = append(all, f)
	}
	if hasReported {
		all = append(all, reported)
	}
	for i := range all {
		all[i].Workloads = workloadsOf(n, g)
	}
	return all
}

func unhealthy(finding view.Finding, g *view.GPU) (view.Finding, bool) {
	state := text(g.Status)
	action := text(g.RecoveryAction)
	if action == "none" {
		action = ""
	}
	switch {
	case state == "failed":
		finding.Kind, finding.Severity, finding.What = "gpu_failed", view.SeverityError, "The GPU has failed"
		finding.Consequence, finding.Runbook = "No work can use it, and the work on it may have failed.", runbooks+"gpufailed"
	case state == "degraded":
		finding.Kind, finding.What = "gpu_degraded", "The GPU is degraded"
	case state == "predicted_failure":
		finding.Kind, finding.What = "gpu_degraded", "The GPU is about to fail"
	case len(g.Faults) > 0 || action != "":
		finding.Kind, finding.What = "gpu_degraded", "The GPU has a fault"
	default:
		return finding, false
	}
	if finding.Consequence == "" {
		finding.Consequence, finding.Runbook = "Work on the GPU goes on, but may fail.", runbooks+"gpufault"
	}
	if alert := remedyFor(g.Faults...).Alert; alert != "" {
		finding.Runbook = runbooks + strings.ToLower(alert)
	}
	finding.Detail = strings.Join(g.Faults, ", ")
	if finding.Detail == "" {
		finding.Detail = "the driver names no fault"
	}
	finding.Remedy = remedyOfFaults(g.Faults...)
	if action != "" {
		finding.Detail += "; the driver asks for: " + action
		finding.Remedy = remedyOfAction(action)
	}
	return finding, true
}

// remap finds rows of memory that wait for a reset or cannot be replaced, if no fault says so already.
func remap(finding view.Finding, g *view.GPU) (view.Finding, bool) {
	for _, state := range []string{"failed", "pending"} {
		if slices.Contains(g.RemapStates, state) && !slices.Contains(g.Faults, "remap_"+state) {
			finding.Consequence, finding.Runbook = "Uncorrected memory errors can come back.", runbooks+"gpurowremap"+state
			finding.Kind, finding.What, finding.Detail, finding.Remedy = "remap", "Memory rows need remapping", "remapping "+state, remedyOfFaults("remap_"+state)
			return finding, true
		}
	}
	return finding, false
}

// xids finds errors that the driver has reported since its collector started to count, with what NVIDIA recommends for the worst.
func xids(finding view.Finding, g *view.GPU) (view.Finding, bool) {
	var said []string
	worst := -1
	finding.Kind, finding.Severity, finding.What = "xid", view.SeverityInfo, "The driver reported errors"
	for _, text := range slices.SortedFunc(maps.Keys(g.XIDs), byNumber) {
		if g.XIDs[text] <= 0 {
			continue
		}
		code, err := strconv.ParseInt(text, 10, 64)
		entry, known := xid.Lookup(code)
		known = known && err == nil
		one := "XID " + text + ", once"
		if g.XIDs[text] > 1 {
			one = fmt.Sprintf("XID %s, %.0f times", text, g.XIDs[text])
		}
		if known {
			one += ": " + entry.Meaning
		}
		said = append(said, one)
		if !known || entry.Severity == xid.SeverityError || entry.Severity == xid.SeverityFatal { // not a mistake of a program
			finding.Severity = view.SeverityWarning
		}
		bad := slices.Index(xidSeverities, entry.Severity)
		if bad <= worst {
			continue
		}
		worst = bad
		finding.Remedy = "Look up the XID in NVIDIA's list of XID errors, and look at the kernel's log around its time."
		if known && entry.Action.Advice != "" {
			finding.Remedy = "NVIDIA recommends: " + entry.Action.Advice + "."
		}
	}
	finding.Consequence, finding.Runbook = "Programs on the GPU may have failed.", runbooks+"gpuxid"
	if finding.Severity == view.SeverityInfo {
		finding.Runbook = runbooks + "gpuxidminor"
	}
	finding.Detail = "since the collector started: " + strings.Join(said, "; ")
	return finding, len(said) > 0
}

// xidSeverities are the catalogue's, the worst last.
var xidSeverities = []xid.Severity{xid.SeverityInfo, xid.SeverityWarning, xid.SeverityError, xid.SeverityFatal}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
