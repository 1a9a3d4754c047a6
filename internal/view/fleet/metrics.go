// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"math"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// subject is what the points of a metric describe.
type subject uint8

const (
	ofNode     subject = iota // or of a cluster
	ofIdentity                // hw.gpu.info, which makes a device known
	ofDevice
	ofProcess
	ofContainer
	ofCapacity // what a cluster offers on a node, which shows whether it has the node
)

// Attributes that distinguish the points of one subject.
const (
	attrBankSpares       = "hw.gpu.memory.bank.spares"
	attrClockDomain      = "hw.gpu.clock_domain"
	attrDirection        = "network.io.direction"
	attrErrorBlock       = "hw.gpu.error.block"
	attrErrorType        = "error.type"
	attrFabricCondition  = "hw.gpu.fabric.condition"
	attrFabricState      = "hw.gpu.fabric.state"
	attrInterconnectType = "hw.gpu.interconnect.type"
	attrLimitType        = "hw.limit_type"
	attrLinkState        = "hw.gpu.interconnect.link_state"
	attrModeName         = "hw.gpu.mode.name"
	attrPCIeDevice       = "hw.gpu.pcie.device"
	attrPresence         = "hw.gpu.presence"
	attrRecoveryAction   = "hw.gpu.recovery.action"
	attrRemapState       = "hw.gpu.remap.state"
	attrSensor           = "hw.sensor_location"
	attrSource           = "hw.gpu.source.name"
	attrState            = "hw.state"
	attrTask             = "hw.gpu.task"
	attrThrottleReason   = "hw.gpu.throttle.reason"
	attrVendor           = "hw.vendor"
	attrXID              = "hw.gpu.xid"
)

// maxLabels is how many labels a metric has at most.
const maxLabels = 3

// metric is one entry of the table.
type metric struct {
	name    string
	subject subject
	values  bounds
	labels  []string

	// How a value is shown; nil if it is not, or not by itself.
	onNode      func(*view.Node, *fieldKey, float64)
	onGPU       func(*view.GPU, *fieldKey, float64)
	onProcess   func(*view.Process, *fieldKey, float64)
	onContainer func(*view.Container, *fieldKey, float64)
}

// bounds are the least and the greatest value that a metric can have. They are wide: what is beyond them is an error of the sender, or garbage.
type bounds struct{ least, most float64 }

func (b bounds) have(value float64) bool { return b.least <= value && value <= b.most } // false for NaN

var (
	ratio   = bounds{0, 1}             // also what is 1 if it holds now, else 0
	count   = bounds{0, math.MaxInt32} // what there is now
	counter = bounds{0, 1 << 63}       // what only grows; an integer of OTLP is smaller
	size    = bounds{0, 1 << 50}       // bytes of a memory
	watts   = bounds{0, 1e6}
	hertz   = bounds{0, 1e12}
	celsius = bounds{-273.15, 1000}
	margin  = bounds{-1000, 1000} // of two temperatures
)

// metrics is the table of what is shown, by name. Everything else in a message is ignored.
var metrics = byName(nodeMetrics, gpuMetrics, useMetrics)

func byName(tables ...[]metric) map[string]*metric {
	all := map[string]*metric{}
	for _, table := range tables {
		for i := range table {
			all[table[i].name] = &table[i]
		}
	}
	return all
}

// nodeMetrics has no way to show a source: its state and the reasons for it belong together.
var nodeMetrics = []metric{
	{name: metadata.MetricsInfo.HwGpuSourceReadable.Name, subject: ofNode, values: ratio, labels: []string{attrSource, attrVendor}},
	{name: metadata.MetricsInfo.HwGpuSourceFailure.Name, subject: ofNode, values: ratio, labels: []string{attrSource, attrVendor, attrErrorType}},
	{name: metadata.MetricsInfo.K8sNodeGpuCapacity.Name, subject: ofCapacity, values: count},
	{
		name: metadata.MetricsInfo.HwGpuCount.Name, subject: ofNode, values: count, labels: []string{attrPresence, attrVendor},
		onNode: func(n *view.Node, key *fieldKey, value float64) {
			switch key.label(attrPresence) {
			case "visible":
				addCount(&n.GPUCount, value)
			case "missing":
				addCount(&n.Missing, value)
			case "unmanaged":
				addCount(&n.Unmanaged, value)
			}
		},
	},
}

// label returns a label by its name, empty if the point did not have it.
func (k *fieldKey) label(name string) string { return k.labels[slices.Index(k.metric.labels, name)] }

// optional returns a label by its name, nil if the point did not have it.
func (k *fieldKey) optional(name string) *string {
	if label := &k.labels[slices.Index(k.metric.labels, name)]; *label != "" {
		return label
	}
	return nil
}
