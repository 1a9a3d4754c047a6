// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"maps"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// device is a GPU, a MIG instance or an AMD partition.
type device struct {
	readings
	id         string
	info       field         // of hw.gpu.info
	counted    time.Duration // since the start of the fleet, when the use of the device was last counted
	processes  map[int64]*process
	containers map[string]*container

	// The attributes of hw.gpu.info.
	parent, name, vendor, model, pciAddress, serial *string
	driver, firmware, capability, profile           *string
	index, numaNode                                 *int
}

func newDevice(id string, info field) *device {
	return &device{id: id, info: info, processes: map[int64]*process{}, containers: map[string]*container{}}
}

func (d *device) describe(point pcommon.Map, shared *texts) {
	shared.set(&d.parent, text(point, "hw.parent"))
	shared.set(&d.name, text(point, "hw.name"))
	shared.set(&d.vendor, text(point, "hw.vendor"))
	shared.set(&d.model, text(point, "hw.model"))
	shared.set(&d.pciAddress, text(point, "hw.gpu.pci.address"))
	shared.set(&d.serial, text(point, "hw.serial_number"))
	shared.set(&d.driver, text(point, "hw.driver_version"))
	shared.set(&d.firmware, text(point, "hw.firmware_version"))
	shared.set(&d.capability, text(point, "hw.gpu.compute_capability"))
	shared.set(&d.profile, text(point, "hw.gpu.partition.profile"))
	d.index = number(point, "hw.gpu.index")
	d.numaNode = number(point, "hw.gpu.numa.node")
}

func number(point pcommon.Map, name string) *int {
	v, ok := integer(point, name)
	if !ok || v < 0 {
		return nil
	}
	n := int(v)
	return &n
}

// shown reports whether hw.gpu.info has not ended.
func (d *device) shown() bool {
	for f := range d.values {
		if f == d.info {
			return true
		}
	}
	return false
}

// expire removes what was not sent for a time: old readings, and processes and containers that are no longer sent.
func (d *device) expire(age, now time.Duration) {
	d.readings.expire(age)
	maps.DeleteFunc(d.processes, func(_ int64, p *process) bool {
		p.expire(age)
		return now-p.lastUpdate > age
	})
	maps.DeleteFunc(d.containers, func(_ string, c *container) bool {
		c.expire(age)
		return now-c.lastUpdate > age
	})
}
