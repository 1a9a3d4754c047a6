// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package differential

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Values are the values of a node, by device and path: "a1b2c3d4e5f60000 Power.Draw". It does not contain absent values.
type Values map[string]any

// Flatten splits the devices and processes of a node into values.
func Flatten(n *gpu.Node) Values {
	v := Values{}
	for i := range n.Devices {
		d := &n.Devices[i]
		id := d.ID
		if id == "" || id[0] == '/' {
			id = d.Info.PCIAddress + id
		}
		compared := *d
		compared.Epoch = 0 // each source has numbers of its own
		v.take(id, reflect.ValueOf(compared))
	}
	for i := range n.Processes {
		p := &n.Processes[i]
		v.take(fmt.Sprintf("%s process %d", p.DeviceID, p.PID), reflect.ValueOf(*p))
	}
	for i, p := range n.Presence {
		if count, ok := p.Get(); ok {
			v[fmt.Sprintf("node Presence[%d]", i)] = float64(count)
		}
	}
	return v
}

// errorTypes name the kinds of errors.
var errorTypes = [gpu.NumErrorTypes]string{
	"corrected", "uncorrected", "deferred",
}

// elements name the elements of arrays by their index.
var elements = map[string][]string{
	"Utilization":      {"general", "encoder", "decoder", "jpeg", "optical_flow", "media"},
	"Temperature":      {"gpu", "memory", "hotspot", "edge"},
	"TemperatureLimit": {"gpu", "memory", "hotspot", "edge"},
	"Limit":            {"degraded", "critical", "max", "enforced", "min", "default"},
	"Clocks":           {"graphics", "sm", "memory", "video"},
}

func (v Values) take(name string, x reflect.Value) {
	if get := x.MethodByName("Get"); get.IsValid() {
		if out := get.Call(nil); out[1].Bool() {
			v.set(name, out[0])
		}
		return
	}
	switch value := x.Interface().(type) {
	case time.Time:
		return
	case gpu.Fault:
		v[name+".Type"], v[name+".Message"] = float64(value.Type), value.Message // also of the type that is 0
		return
	case gpu.ErrorCount:
		block := value.Block
		if value.Lifetime {
			block = "lifetime"
		}
		v.take(fmt.Sprintf("%s %s %s", name[:strings.LastIndexByte(name, '[')], block, errorTypes[value.Type]), reflect.ValueOf(value.Count))
		return
	}
	switch x.Kind() {
	case reflect.Struct:
		for i := range x.NumField() {
			separator := " "
			if strings.Contains(name[strings.LastIndexByte(name, '/')+1:], " ") {
				separator = "."
			}
			v.take(name+separator+x.Type().Field(i).Name, x.Field(i))
		}
	case reflect.Array, reflect.Slice:
		last := name[strings.LastIndexAny(name, ". ")+1:]
		for i := range x.Len() {
			index := strconv.Itoa(i)
			if names := elements[last]; i < len(names) {
				index = names[i]
			} else if strings.HasPrefix(last, "TemperatureLimit[") {
				index = elements["Limit"][i]
			}
			v.take(name+"["+index+"]", x.Index(i))
		}
	case reflect.Pointer:
	default:
		if !x.IsZero() {
			v.set(name, x)
		}
	}
}

// set notes a value: every number as a float64.
func (v Values) set(name string, x reflect.Value) {
	switch {
	case x.CanInt():
		v[name] = float64(x.Int())
	case x.CanUint():
		v[name] = float64(x.Uint())
	case x.CanFloat():
		v[name] = x.Float()
	default:
		v[name] = x.Interface()
	}
}
