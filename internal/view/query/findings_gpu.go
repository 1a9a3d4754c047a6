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
	at := view.Finding{Severity: view.SeverityWarning, Cluster: g.Cluster, Node: &g.Node, GPU: &g.ID, Index: g.Index}
	var all []view.Finding
	if f, wrong := unhealthy(at, g); wrong {
		all = append(all, f)
	}
	if f, wrong := remap(at, g); wrong {
		all = append(all, f)
	}
	if reasons := slices.DeleteFunc(slices.Clone(g.Throttled), view.ThrottledByDesign); len(reasons) > 0 && n.State != view.Stale {
		f := at
		f.Kind, f.What, f.Detail = "throttled", "Clocks are throttled", strings.Join(reasons, ", ")
		f.Remedy = remedyOfThrottling(reasons)
		all = append(all, f)
	}
	if f, reported := xids(at, g); reported {
		all = append(all, f)
	}
	return all
}

func unhealthy(at view.Finding, g *view.GPU) (view.Finding, bool) {
	state := text(g.Status)
	action := text(g.RecoveryAction)
	if action == "none" {
		action = ""
	}
	switch {
	case state == "failed":
		at.Kind, at.Severity, at.What = "gpu_failed", view.SeverityError, "The GPU has failed"
	case state == "degraded":
		at.Kind, at.What = "gpu_degraded", "The GPU is degraded"
	case state == "predicted_failure":
		at.Kind, at.What = "gpu_degraded", "The GPU is about to fail"
	case len(g.Faults) > 0 || action != "":
		at.Kind, at.What = "gpu_degraded", "The GPU has a fault"
	default:
		return at, false
	}
	at.Detail = strings.Join(g.Faults, ", ")
	if at.Detail == "" {
		at.Detail = "the driver names no fault"
	}
	at.Remedy = remedyOfFaults(g.Faults...)
	if action != "" {
		at.Detail += "; the driver asks for: " + action
		at.Remedy = remedyOfAction(action)
	}
	return at, true
}

// remap finds rows of memory that wait for a reset or cannot be replaced, if no fault says so already.
func remap(at view.Finding, g *view.GPU) (view.Finding, bool) {
	for _, state := range []string{"failed", "pending"} {
		if slices.Contains(g.RemapStates, state) && !slices.Contains(g.Faults, "remap_"+state) {
			at.Kind, at.What, at.Detail, at.Remedy = "remap", "Memory rows need remapping", "remapping "+state, remedyOfFaults("remap_"+state)
			return at, true
		}
	}
	return at, false
}

// xids finds errors that the driver has reported since its collector started to count, with what NVIDIA recommends for the worst.
func xids(at view.Finding, g *view.GPU) (view.Finding, bool) {
	var said []string
	worst := -1
	at.Kind, at.Severity, at.What = "xid", view.SeverityInfo, "The driver reported errors"
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
			at.Severity = view.SeverityWarning
		}
		bad := slices.Index(xidSeverities, entry.Severity)
		if bad <= worst {
			continue
		}
		worst = bad
		at.Remedy = "Look up the XID in NVIDIA's list of XID errors, and look at the kernel's log around its time."
		if known && entry.Action.Advice != "" {
			at.Remedy = "NVIDIA recommends: " + entry.Action.Advice + "."
		}
	}
	at.Detail = "since the collector started: " + strings.Join(said, "; ")
	return at, len(said) > 0
}

// xidSeverities are the catalogue's, the worst last.
var xidSeverities = []xid.Severity{xid.SeverityInfo, xid.SeverityWarning, xid.SeverityError, xid.SeverityFatal}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
