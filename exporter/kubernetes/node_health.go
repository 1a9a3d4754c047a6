// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Reasons of the condition.
const (
	reasonHealthy    = "GPUsHealthy"
	reasonFailed     = "GPUFailed"
	reasonDegraded   = "GPUDegraded"
	reasonPredicted  = "GPUFailurePredicted"
	reasonMissing    = "GPUMissing"
	reasonUnreadable = "GPUsUnreadable"
	reasonNone       = "NoGPU"
	reasonStarted    = "CollectorStarted"
	reasonSilent     = "NoMetrics"
	reasonStopped    = "CollectorStopped"
)

const (
	stateOK    = "ok"
	keepDevice = time.Hour // without a point, if its end was not sent
)

// verdict is what a node's condition says.
type verdict struct {
	status          corev1.ConditionStatus
	reason, message string
}

// nodeHealth is what the last metrics of a node say of its GPUs.
type nodeHealth struct {
	devices  map[string]*deviceHealth // by hw.id
	sources  map[string]*sourceHealth // by name and vendor
	missing  map[string]float64       // by vendor: GPUs on the bus that the driver does not show
	lastSeen time.Time                // the last metrics came; zero before the first
}

// deviceHealth is a GPU or a partition.
type deviceHealth struct {
	name      string
	partition bool
	known     latest // "present" if hw.gpu.info has it
	state     latest
	faults    map[string]bool
	lastSeen  time.Time
	read      time.Time // its state
}

// latest is a value with the time of its point: the end of a series may come after the point of the next one, and is older.
type latest struct {
	value     string // empty: not known
	pointTime time.Time
}

// sourceHealth is a source of a node.
type sourceHealth struct {
	name     string
	readable bool
	failure  string // why not
}

func newNodeHealth() *nodeHealth {
	return &nodeHealth{devices: map[string]*deviceHealth{}, sources: map[string]*sourceHealth{}, missing: map[string]float64{}}
}

// verdict returns what the condition says now. silence is how long a node may send nothing, or nothing of a GPU.
func (h *nodeHealth) verdict(now time.Time, silence time.Duration) verdict {
	switch {
	case h.lastSeen.IsZero():
		return verdict{corev1.ConditionUnknown, reasonStarted, "the collector has started and has not read the GPUs yet"}
	case now.Sub(h.lastSeen) > silence:
		return verdict{corev1.ConditionUnknown, reasonSilent, "no metrics since " + h.lastSeen.UTC().Format(time.RFC3339)}
	}
	if v, ok := h.unhealthy(now, silence); ok {
		return v
	}
	if v, ok := h.unreadable(now, silence); ok {
		return v
	}
	if missing := sum(h.missing); missing > 0 {
		return verdict{corev1.ConditionFalse, reasonMissing, fmt.Sprintf("%.0f GPUs on the PCI bus are not shown by their driver", missing)}
	}
	gpus := 0
	for _, device := range h.devices {
		if !device.partition {
			gpus++
		}
	}
	if gpus == 0 {
		return verdict{corev1.ConditionUnknown, reasonNone, "no GPU was found"}
	}
	return verdict{corev1.ConditionTrue, reasonHealthy, fmt.Sprintf("%d GPUs are ok", gpus)}
}

// unhealthy returns the verdict of GPUs that are not ok, if there are any. The worst of them is the reason.
func (h *nodeHealth) unhealthy(now time.Time, silence time.Duration) (verdict, bool) {
	worst, reason := 0, ""
	var which []string
	for _, id := range slices.Sorted(maps.Keys(h.devices)) {
		device := h.devices[id]
		state := device.current(now, silence)
		if state == "" || state == stateOK {
			continue
		}
		text := device.label(id) + ": " + strings.ReplaceAll(state, "_", " ")
		if len(device.faults) > 0 {
			text += " (" + strings.Join(slices.Sorted(maps.Keys(device.faults)), ", ") + ")"
		}
		which = append(which, text)
		if rank, reasonOfState := rankOf(state); rank > worst {
			worst, reason = rank, reasonOfState
		}
	}
	return verdict{corev1.ConditionFalse, reason, listed(which)}, len(which) > 0
}

// unreadable returns the verdict if a source or a GPU was not read.
func (h *nodeHealth) unreadable(now time.Time, silence time.Duration) (verdict, bool) {
	var which []string
	for _, key := range slices.Sorted(maps.Keys(h.sources)) {
		if source := h.sources[key]; !source.readable {
			which = append(which, strings.TrimSpace(source.name+" cannot be read "+bracketed(source.failure)))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(h.devices)) {
		if device := h.devices[id]; device.current(now, silence) == "" {
			which = append(which, device.label(id)+" was not read")
		}
	}
	return verdict{corev1.ConditionUnknown, reasonUnreadable, listed(which)}, len(which) > 0
}

// forget removes devices that have had no point for long.
func (h *nodeHealth) forget(now time.Time) {
	maps.DeleteFunc(h.devices, func(_ string, d *deviceHealth) bool { return now.Sub(d.lastSeen) > keepDevice })
}

// current returns the state of a device; empty if it is not known, or not any more.
func (d *deviceHealth) current(now time.Time, silence time.Duration) string {
	if now.Sub(d.read) > silence {
		return ""
	}
	return d.state.value
}

func (d *deviceHealth) label(id string) string { return cmp.Or(d.name, id) }

// rankOf returns how bad a state is, and the reason that it makes. A state of another version is as bad as the least.
func rankOf(state string) (rank int, reason string) {
	switch state {
	case "failed":
		return 3, reasonFailed
	case "degraded":
		return 2, reasonDegraded
	default:
		return 1, reasonPredicted
	}
}

func bracketed(text string) string {
	if text == "" {
		return ""
	}
	return "(" + text + ")"
}

func sum(counts map[string]float64) (total float64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// listed joins the first of many texts.
func listed(texts []string) string {
	const maxTexts = 16
	if len(texts) > maxTexts {
		texts = append(texts[:maxTexts:maxTexts], fmt.Sprintf("and %d more", len(texts)-maxTexts))
	}
	return bounded(strings.Join(texts, ", "), maxMessage)
}
