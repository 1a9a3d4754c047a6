// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// addSensors adds what single sensors and dies measure.
func addSensors(values map[string]value, d *gpu.Device) {
	for _, s := range d.TemperatureDetail {
		add(values, "temperature, "+s.Location, "°C", celsius, s.Value)
	}
	for _, s := range d.Voltage {
		add(values, "voltage, "+s.Location, "V", volts, s.Value)
	}
	for _, f := range d.Fans {
		add(values, "fan, "+f.Location, "", fraction, f.Ratio)
		add(values, "fan, "+f.Location+", speed", "revolutions/min", revolutions, number(f.Speed))
	}
	for i, v := range d.XCCUtilization {
		add(values, fmt.Sprintf("utilization, XCC %d", i), "", fraction, v)
	}
}

// addBus adds the link to the host and what went wrong on it.
func addBus(values map[string]value, p *gpu.PCIe) {
	add(values, "PCIe generation", "", exact, number(p.Generation))
	add(values, "PCIe width", "lanes", exact, number(p.Width))
	add(values, "PCIe replays", "", countedMore, total(p.Replays))
	add(values, "PCIe replay rollovers", "", countedMore, total(p.ReplayRollovers))
	add(values, "PCIe recoveries", "", countedMore, total(p.Recoveries))
	add(values, "PCIe NAKs, sent", "", countedMore, total(p.NAKsTransmitted))
	add(values, "PCIe NAKs, received", "", countedMore, total(p.NAKsReceived))
}
