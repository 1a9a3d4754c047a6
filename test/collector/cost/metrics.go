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

// withoutProcesses is the configuration in which nothing is read of processes.
const withoutProcesses = "{process.gpu.memory.usage: {enabled: false}, process.gpu.utilization: {enabled: false}}"

// only is the configuration in which no metric is on but these.
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
