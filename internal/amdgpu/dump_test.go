// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// dump formats the values of a node, one a line, without absent ones.
func dump(n *gpu.Node) string {
	var b strings.Builder
	for i, p := range n.Presence {
		if v, ok := p.Get(); ok {
			fmt.Fprintf(&b, "presence.%s = %d\n", [...]string{"visible", "missing", "unmanaged"}[i], v)
		}
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		fmt.Fprintf(&b, "\ndevice %s\n", d.ID)
		dumpValue(&b, "", reflect.ValueOf(*d))
	}
	for i := range n.Processes {
		p := &n.Processes[i]
		fmt.Fprintf(&b, "\nprocess %d on %s\n", p.PID, p.DeviceID)
		dumpValue(&b, "", reflect.ValueOf(*p))
	}
	for _, p := range n.Problems {
		fmt.Fprintf(&b, "\nproblem %s %s: %v\n", p.Device, p.What, p.Err)
	}
	return b.String()
}

// indices are the names of the elements of arrays that are indexed by enumerations.
var indices = map[string][]string{
	"Utilization":       {"general", "encoder", "decoder", "jpeg", "optical_flow", "media"},
	"Temperature":       {"gpu", "memory", "hotspot", "edge"},
	"TemperatureLimit":  {"gpu", "memory", "hotspot", "edge"},
	"TemperatureMargin": {"degraded", "critical", "max", "enforced", "min", "default"},
	"Limit":             {"degraded", "critical", "max", "enforced", "min", "default"},
	"Clocks":            {"graphics", "sm", "memory", "video"},
	"Throttle": {
		"sw_power_cap", "hw_slowdown", "sync_boost", "sw_thermal", "hw_thermal", "hw_power_brake",
		"power", "current", "thermal_gpu", "thermal_memory", "thermal_vr", "thermal_external", "firmware",
		"board_limit", "reliability", "low_utilization", "host_limit_power", "host_limit_thermal",
	},
}

func dumpValue(b *strings.Builder, name string, v reflect.Value) {
	if get := v.MethodByName("Get"); get.IsValid() {
		if out := get.Call(nil); out[1].Bool() {
			fmt.Fprintf(b, "%s = %v\n", name, out[0].Interface())
		}
		return
	}
	switch value := v.Interface().(type) {
	case time.Time:
		return
	case gpu.ErrorCount:
		n, _ := value.Count.Get()
		kind := [...]string{"corrected", "uncorrected", "deferred"}[value.Type]
		fmt.Fprintf(b, "%s = %s %s %d\n", name, value.Block, kind, n)
		return
	case gpu.LinkType:
		if value == gpu.XGMI {
			fmt.Fprintf(b, "%s = xgmi\n", name)
		}
		return
	case gpu.ProcessType:
		fmt.Fprintf(b, "%s = %s\n", name, [...]string{"unknown", "compute", "graphics", "compute_graphics", "mps"}[value])
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i).Name
			if name != "" {
				field = name + "." + field
			}
			dumpValue(b, field, v.Field(i))
		}
	case reflect.Array, reflect.Slice:
		last := name[strings.LastIndexByte(name, '.')+1:]
		for i := range v.Len() {
			index := strconv.Itoa(i)
			if names := indices[last]; i < len(names) {
				index = names[i]
			} else if strings.HasPrefix(last, "TemperatureLimit[") {
				index = indices["Limit"][i]
			}
			dumpValue(b, name+"["+index+"]", v.Index(i))
		}
	default:
		if !v.IsZero() {
			fmt.Fprintf(b, "%s = %v\n", name, v.Interface())
		}
	}
}
