// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// read is what one read says of a GPU and its partitions. Its JSON is kept in gpu_reads until the next read.
type read struct {
	GPU     string             `json:"gpu"`  // hw.id
	Time    pcommon.Timestamp  `json:"time"` // of the points
	Devices map[string]*device `json:"devices"`
}

// device is a GPU or a partition.
type device struct {
	Columns   map[string]any     `json:"columns"`
	Allocated *bool              `json:"allocated,omitempty"` // hw.gpu.allocated; nil if it is unknown
	Holders   map[string]*holder `json:"holders,omitempty"`   // to which it is allocated
}

// holder is a container, job or unit to which a device is allocated.
type holder struct {
	Columns map[string]any `json:"columns"`
	Held    bool           `json:"held"`
	Share   *float64       `json:"share,omitempty"`  // container.gpu.share
	Idle    *counter       `json:"idle,omitempty"`   // container.gpu.idle.time
	Energy  *counter       `json:"energy,omitempty"` // container.gpu.energy
	Memory  *int64         `json:"memory,omitempty"` // container.gpu.memory.usage
}

// counter is a point of a counter.
type counter struct {
	Start pcommon.Timestamp `json:"start"`
	Value float64           `json:"value"`
}

// since returns by how much a counter rose, and whether that is known.
func (c *counter) since(former *counter) (float64, bool) {
	if c == nil || former == nil || c.Start != former.Start || c.Value < former.Value {
		return 0, false
	}
	return c.Value - former.Value, true
}

// readKey identifies the read of a device.
type readKey struct {
	time pcommon.Timestamp
	id   string
}

// readsOf returns the reads of the metrics of the gpu receiver, ordered by GPU and time. The receiver sends each read whole.
func readsOf(metrics pmetric.Metrics) []*read {
	devices := map[readKey]*device{}
	for _, resource := range metrics.ResourceMetrics().All() {
		for _, scope := range resource.ScopeMetrics().All() {
			for _, metric := range scope.Metrics().All() {
				if set := setters[metric.Name()]; set != nil {
					for _, point := range pointsOf(metric).All() {
						addPoint(devices, attributes{point.Attributes(), resource.Resource().Attributes()}, point, set)
					}
				}
			}
		}
	}
	return group(devices)
}

func pointsOf(metric pmetric.Metric) pmetric.NumberDataPointSlice {
	switch metric.Type() {
	case pmetric.MetricTypeSum:
		return metric.Sum().DataPoints()
	case pmetric.MetricTypeGauge:
		return metric.Gauge().DataPoints()
	default:
		return pmetric.NewNumberDataPointSlice()
	}
}

// setters are the metrics that the ledger reads.
var setters = map[string]func(*device, attributes, pmetric.NumberDataPoint){
	"hw.gpu.info": func(d *device, a attributes, _ pmetric.NumberDataPoint) {
		a.names(d.Columns, "hw.gpu.partition.profile")
		setDevice(d, a)
	},
	"hw.gpu.allocated": func(d *device, a attributes, p pmetric.NumberDataPoint) {
		allocated := numberOf(p) > 0
		d.Allocated = &allocated
		setDevice(d, a)
	},
	"container.gpu.allocated": func(d *device, a attributes, p pmetric.NumberDataPoint) {
		h := d.holder(a)
		h.Held = numberOf(p) > 0
		a.names(h.Columns, "k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.container.name", "k8s.workload.kind", "k8s.workload.name",
			"slurm.job.id", "slurm.job.user", "slurm.job.account")
		h.Columns["labels"] = a.labels()
	},
	"container.gpu.share": func(d *device, a attributes, p pmetric.NumberDataPoint) {
		share := numberOf(p)
		d.holder(a).Share = &share
	},
	"container.gpu.idle.time": func(d *device, a attributes, p pmetric.NumberDataPoint) { d.holder(a).Idle = counterOf(p) },
	"container.gpu.energy":    func(d *device, a attributes, p pmetric.NumberDataPoint) { d.holder(a).Energy = counterOf(p) },
	"container.gpu.memory.usage": func(d *device, a attributes, p pmetric.NumberDataPoint) {
		memory := int64(numberOf(p))
		d.holder(a).Memory = &memory
	},
}

func setDevice(d *device, a attributes) {
	a.names(d.Columns, "hw.parent", "hw.name", "hw.model", "hw.vendor")
	d.setNode(a)
}

func (d *device) setNode(a attributes) {
	a.names(d.Columns, "k8s.cluster.name", "k8s.node.name", "host.name")
}

func (d *device) holder(a attributes) *holder {
	id := holderOf(a)
	h := d.Holders[id]
	if h == nil {
		h = &holder{Columns: map[string]any{}}
		d.Holders[id] = h
	}
	return h
}

func addPoint(devices map[readKey]*device, a attributes, point pmetric.NumberDataPoint, set func(*device, attributes, pmetric.NumberDataPoint)) {
	id := shortened(a.text("hw.id"))
	if id == "" || point.Timestamp() == 0 || point.Flags().NoRecordedValue() || math.IsNaN(numberOf(point)) || math.IsInf(numberOf(point), 0) {
		return
	}
	key := readKey{point.Timestamp(), id}
	d := devices[key]
	if d == nil {
		d = &device{Columns: map[string]any{}, Holders: map[string]*holder{}}
		d.setNode(a)
		devices[key] = d
	}
	set(d, a, point)
}

func numberOf(p pmetric.NumberDataPoint) float64 {
	if p.ValueType() == pmetric.NumberDataPointValueTypeInt {
		return float64(p.IntValue())
	}
	return p.DoubleValue()
}

func counterOf(p pmetric.NumberDataPoint) *counter { return &counter{p.StartTimestamp(), numberOf(p)} }

// group puts the partitions of a GPU together, and drops containers that only use a device.
func group(devices map[readKey]*device) []*read {
	reads := map[readKey]*read{}
	for key, d := range devices {
		maps.DeleteFunc(d.Holders, func(_ string, h *holder) bool { return !h.Held })
		gpu := key
		if parent, ok := d.Columns["hw_parent"].(string); ok {
			gpu.id = parent
		}
		if reads[gpu] == nil {
			reads[gpu] = &read{GPU: gpu.id, Time: gpu.time, Devices: map[string]*device{}}
		}
		reads[gpu].Devices[key.id] = d
	}
	return slices.SortedFunc(maps.Values(reads), func(a, b *read) int { return cmp.Or(cmp.Compare(a.GPU, b.GPU), cmp.Compare(a.Time, b.Time)) })
}
