// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// Bounds on what is kept of a node, for every sender.
const (
	maxDevices = 1024
	maxSources = 32
	maxFaults  = 32 // of a device
	maxVendors = 8
	maxText    = 128 // bytes of a name
)

// healthPoint is a point of one of the metrics that say how GPUs are.
type healthPoint struct {
	pmetric.NumberDataPoint
	pointTime time.Time
}

// healthMetrics are those metrics.
var healthMetrics = map[string]func(*nodeHealth, healthPoint, time.Time){
	metadata.MetricsInfo.HwGpuInfo.Name:           (*nodeHealth).info,
	metadata.MetricsInfo.HwStatus.Name:            (*nodeHealth).status,
	metadata.MetricsInfo.HwGpuFault.Name:          (*nodeHealth).fault,
	metadata.MetricsInfo.HwGpuCount.Name:          (*nodeHealth).count,
	metadata.MetricsInfo.HwGpuSourceReadable.Name: (*nodeHealth).readable,
	metadata.MetricsInfo.HwGpuSourceFailure.Name:  (*nodeHealth).failure,
}

// add takes the metrics of a resource of the node. Points older than silence say nothing about now: they come late, from a queue.
func (h *nodeHealth) add(metrics pmetric.ResourceMetrics, now time.Time, silence time.Duration) {
	for _, scope := range metrics.ScopeMetrics().All() {
		for _, metric := range scope.Metrics().All() {
			take, ok := healthMetrics[metric.Name()]
			if !ok {
				continue
			}
			for _, point := range numbers(metric).All() {
				if p := (healthPoint{point, point.Timestamp().AsTime()}); now.Sub(p.pointTime) <= silence {
					h.lastSeen = now
					take(h, p, now)
				}
			}
		}
	}
}

func numbers(metric pmetric.Metric) pmetric.NumberDataPointSlice {
	switch metric.Type() {
	case pmetric.MetricTypeGauge:
		return metric.Gauge().DataPoints()
	case pmetric.MetricTypeSum:
		return metric.Sum().DataPoints()
	default:
		return pmetric.NewNumberDataPointSlice()
	}
}

// value returns the value of a point; 0 if its series has ended.
func (p healthPoint) value() float64 {
	switch {
	case p.ended():
		return 0
	case p.ValueType() == pmetric.NumberDataPointValueTypeInt:
		return float64(p.IntValue())
	default:
		return p.DoubleValue()
	}
}

func (p healthPoint) ended() bool { return p.Flags().NoRecordedValue() }

func (p healthPoint) text(name string) string { return bounded(textOf(p.Attributes(), name), maxText) }

// device returns the device of a point; nil if there is no room and no device that ends.
func (h *nodeHealth) device(p healthPoint, now time.Time) *deviceHealth {
	id := p.text("hw.id")
	device := h.devices[id]
	if device == nil {
		if id == "" || p.ended() || len(h.devices) == maxDevices {
			return nil
		}
		device = &deviceHealth{faults: map[string]bool{}}
		h.devices[id] = device
	}
	if !p.ended() {
		device.name, device.partition, device.lastSeen = p.text("hw.name"), p.text("hw.parent") != "", now
	}
	return device
}

func (h *nodeHealth) info(p healthPoint, now time.Time) {
	if device := h.device(p, now); device != nil && !p.pointTime.Before(device.known.pointTime) {
		device.known = latest{value: present(p), pointTime: p.pointTime}
		h.drop(p.text("hw.id"))
	}
}

func (h *nodeHealth) status(p healthPoint, now time.Time) {
	device := h.device(p, now)
	if device == nil || p.pointTime.Before(device.state.pointTime) {
		return
	}
	switch state := p.text("hw.state"); {
	case p.value() == 1:
		device.state, device.read = latest{state, p.pointTime}, now
	case device.state.value == state: // not any more
		device.state = latest{pointTime: p.pointTime}
		h.drop(p.text("hw.id"))
	}
}

// drop forgets a device that neither metric has any more: it was taken out, or divided otherwise.
func (h *nodeHealth) drop(id string) {
	if device := h.devices[id]; device.known.value == "" && device.state.value == "" {
		delete(h.devices, id)
	}
}

func (h *nodeHealth) fault(p healthPoint, now time.Time) {
	device := h.device(p, now)
	if device == nil {
		return
	}
	if kind := p.text("error.type"); p.value() == 1 && len(device.faults) < maxFaults {
		device.faults[kind] = true
	} else {
		delete(device.faults, kind)
	}
}

func (h *nodeHealth) count(p healthPoint, _ time.Time) {
	vendor := p.text("hw.vendor")
	if _, known := h.missing[vendor]; p.text("hw.gpu.presence") == "missing" && (known || len(h.missing) < maxVendors) {
		h.missing[vendor] = p.value()
	}
}

// source returns the source of a point; nil if there is no room.
func (h *nodeHealth) source(p healthPoint) *sourceHealth {
	name := p.text("hw.gpu.source.name")
	key := name + "/" + p.text("hw.vendor")
	source := h.sources[key]
	if source == nil && !p.ended() && len(h.sources) < maxSources {
		source = &sourceHealth{name: name, readable: true}
		h.sources[key] = source
	}
	return source
}

func (h *nodeHealth) readable(p healthPoint, _ time.Time) {
	if source := h.source(p); source != nil {
		source.readable = p.ended() || p.value() == 1
	}
}

func (h *nodeHealth) failure(p healthPoint, _ time.Time) {
	source := h.source(p)
	if source == nil {
		return
	}
	if kind := p.text("error.type"); p.value() == 1 {
		source.failure = kind
	} else if source.failure == kind {
		source.failure = ""
	}
}

// present returns a text for a series that has not ended.
func present(p healthPoint) string {
	if p.ended() {
		return ""
	}
	return "present"
}
