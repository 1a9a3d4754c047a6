// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// addSensors adds what single sensors and dies measure.
func addSensors(to map[string]value, d *gpu.Device) {
	for _, s := range d.TemperatureDetail {
		add(to, "temperature, "+s.Location, "°C", celsius, s.Value)
	}
	for _, s := range d.Voltage {
		add(to, "voltage, "+s.Location, "V", volts, s.Value)
	}
	for _, f := range d.Fans {
		add(to, "fan, "+f.Location, "", fraction, f.Ratio)
		add(to, "fan, "+f.Location+", speed", "revolutions/min", revolutions, number(f.Speed))
	}
	for i, v := range d.XCCUtilization {
		add(to, fmt.Sprintf("utilization, XCC %d", i), "", fraction, v)
	}
}

// addBus adds the link to the host and what went wrong on it.
func addBus(to map[string]value, p *gpu.PCIe) {
	add(to, "PCIe generation", "", exact, number(p.Generation))
	add(to, "PCIe width", "lanes", exact, number(p.Width))
	add(to, "PCIe replays", "", countedMore, total(p.Replays))
	add(to, "PCIe replay rollovers", "", countedMore, total(p.ReplayRollovers))
	add(to, "PCIe recoveries", "", countedMore, total(p.Recoveries))
	add(to, "PCIe NAKs, sent", "", countedMore, total(p.NAKsTransmitted))
	add(to, "PCIe NAKs, received", "", countedMore, total(p.NAKsReceived))
}
