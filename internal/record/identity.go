// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// identity is the options that every point of a device bears. They are made once per device, not once per point.
type identity struct {
	name, model, parent string
	vendor              gpu.Vendor
	details             gpu.Info

	start       *metadata.StartTime
	all         []metadata.MetricAttributeOption // start first, then what identifies the device
	description []metadata.MetricAttributeOption // of hw.gpu.info
	used        bool
}

// counter are the options of a counter's point, which has a start time of its own.
func (id *identity) counter() []metadata.MetricAttributeOption { return id.all }

// gauge are the options of any other point.
func (id *identity) gauge() []metadata.MetricAttributeOption { return id.all[1:] }

// identities caches the identity of each device by its hw.id.
type identities map[string]*identity

func (c identities) of(d *gpu.Device) *identity {
	id := c[d.ID]
	if id == nil || id.name != d.Name || id.model != d.Model || id.parent != d.Parent || id.vendor != d.Vendor || id.details != d.Info {
		id = newIdentity(d)
		c[d.ID] = id
	}
	id.used = true
	return id
}

// forgetUnused drops the devices that the last node did not have.
func (c identities) forgetUnused() {
	for key, id := range c {
		if !id.used {
			delete(c, key)
		}
		id.used = false
	}
}

func newIdentity(d *gpu.Device) *identity {
	id := &identity{name: d.Name, model: d.Model, parent: d.Parent, vendor: d.Vendor, details: d.Info, start: &metadata.StartTime{}}
	id.all = append(id.all, id.start)
	id.all = withText(id.all, d.Model, metadata.WithHwModelMetricAttribute)
	id.all = withText(id.all, d.Name, metadata.WithHwNameMetricAttribute)
	id.all = withText(id.all, d.Parent, metadata.WithHwParentMetricAttribute)
	id.all = withText(id.all, string(d.Vendor), metadata.WithHwVendorMetricAttribute)
	id.all = slices.Clip(id.all) // appending to it later must copy

	attrs := id.gauge()
	attrs = withText(attrs, d.Info.DriverVersion, metadata.WithHwDriverVersionMetricAttribute)
	attrs = withText(attrs, d.Info.FirmwareVersion, metadata.WithHwFirmwareVersionMetricAttribute)
	attrs = withText(attrs, d.Info.ComputeCapability, metadata.WithHwGpuComputeCapabilityMetricAttribute)
	attrs = withText(attrs, d.Info.Profile, metadata.WithHwGpuPartitionProfileMetricAttribute)
	attrs = withText(attrs, d.Info.PCIAddress, metadata.WithHwGpuPciAddressMetricAttribute)
	attrs = withText(attrs, d.Info.Serial, metadata.WithHwSerialNumberMetricAttribute)
	if numa, ok := d.Info.NUMANode.Get(); ok {
		attrs = append(attrs, metadata.WithHwGpuNumaNodeMetricAttribute(numa))
	}
	id.description = attrs
	return id
}

// withText appends an option for a text that is known.
func withText(options []metadata.MetricAttributeOption, text string, option func(string) metadata.MetricAttributeOption) []metadata.MetricAttributeOption {
	if text == "" {
		return options
	}
	return append(options, option(text))
}
