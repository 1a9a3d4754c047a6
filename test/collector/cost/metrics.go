// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// withoutProcesses is the configuration that reads nothing about processes.
const withoutProcesses = "{process.gpu.memory.usage: {enabled: false}, process.gpu.utilization: {enabled: false}}"

// basic contains the metrics of the usual dashboards: utilization, memory, temperature, power, clocks, the PCIe link, state, and processes.
// Compared with the default it omits errors, throttling, traffic, remapped memory and the driver's advice.
func basic() string {
	return only("hw.gpu.utilization", "hw.gpu.memory.usage", "hw.gpu.memory.limit", "hw.gpu.memory.controller.utilization",
		"hw.temperature", "hw.temperature.limit", "hw.power", "hw.power.limit", "hw.energy", "hw.gpu.speed", "hw.gpu.performance_state",
		"hw.fan.speed_ratio", "hw.gpu.pcie.generation", "hw.gpu.pcie.generation.limit", "hw.gpu.pcie.width", "hw.gpu.pcie.width.limit",
		"hw.status", "hw.gpu.fault", "hw.gpu.count", "hw.gpu.info", "process.gpu.memory.usage", "process.gpu.utilization")
}

// only is the configuration in which only these metrics are enabled.
func only(metrics ...string) string {
	var off []string
	value := reflect.ValueOf(metadata.DefaultMetricsConfig())
	for i := range value.NumField() {
		name := value.Type().Field(i).Tag.Get("mapstructure")
		if strings.HasPrefix(name, "k8s.") {
			continue // of the cluster, not of this scraper
		}
		if value.Field(i).FieldByName("Enabled").Bool() && !slices.Contains(metrics, name) {
			off = append(off, name+": {enabled: false}")
		}
	}
	return "{" + strings.Join(off, ", ") + "}"
}
