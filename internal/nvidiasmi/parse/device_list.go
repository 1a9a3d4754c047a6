// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"bytes"
	"strconv"
	"strings"
)

// ListedGPU is a GPU of nvidia-smi -L, with its MIG devices.
type ListedGPU struct {
	Index      int
	Name       string
	UUID       string
	MIGDevices []ListedMIGDevice
}

// ListedMIGDevice is a MIG device of -L. UUID is empty for the form of drivers before 470, MIG-GPU-<uuid>/<gi>/<ci>, which is
// no UUID of its own.
type ListedMIGDevice struct {
	Index   int
	Profile string // 1c.3g.71gb
	UUID    string
}

const uuidLabel = "(UUID: "

// DeviceList reads the output of nvidia-smi -L. No other command prints the UUIDs of MIG devices, and the indices of the GPUs
// if some are lost.
//
//	GPU 0: NVIDIA H200 (UUID: GPU-…)
//	  MIG 1c.3g.71gb  Device  0: (UUID: MIG-…)
func DeviceList(data []byte) []ListedGPU {
	var listed []ListedGPU
	for line := range lines(clean(data)) {
		line := text(bytes.TrimSpace(line))
		if isMessage([]byte(line)) {
			continue
		}
		i := strings.LastIndex(line, uuidLabel)
		if i < 0 {
			continue
		}
		head, id := line[:i], line[i+len(uuidLabel):]
		id = strings.TrimSuffix(strings.TrimSpace(id), ")")
		if rest, isGPU := strings.CutPrefix(head, "GPU "); isGPU {
			number, name, _ := strings.Cut(rest, ":")
			index, err := strconv.Atoi(strings.TrimSpace(number))
			if err == nil && index >= 0 && len(listed) < maxGPUs {
				listed = append(listed, ListedGPU{Index: index, Name: strings.TrimSpace(name), UUID: id})
			}
			continue
		}
		if device, isMIG := listedMIGDevice(head, id); isMIG && len(listed) > 0 {
			last := &listed[len(listed)-1]
			if len(last.MIGDevices) < maxMIG {
				last.MIGDevices = append(last.MIGDevices, device)
			}
		}
	}
	return listed
}

func listedMIGDevice(head, id string) (ListedMIGDevice, bool) {
	words := strings.Fields(head) // MIG 2g.35gb Device 2:
	if len(words) < 4 || words[0] != "MIG" || words[len(words)-2] != "Device" {
		return ListedMIGDevice{}, false
	}
	index, err := strconv.Atoi(strings.TrimSuffix(words[len(words)-1], ":"))
	if err != nil || index < 0 {
		return ListedMIGDevice{}, false
	}
	if !strings.HasPrefix(id, "MIG-") || strings.HasPrefix(id, "MIG-GPU-") {
		id = ""
	}
	return ListedMIGDevice{Index: index, Profile: strings.Join(words[1:len(words)-2], " "), UUID: id}, true
}
