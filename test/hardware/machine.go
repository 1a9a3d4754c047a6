// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"path/filepath"
)

const (
	nvidia = "nvidia"
	amd    = "amd"
)

// vendors are the sources of each vendor, the source without a tool first.
var vendors = map[string][]struct{ name, scraper string }{
	nvidia: {
		{"nvml", "nvml: {library_path: '${env:GPU_NVML_LIBRARY:-}', pcie_sampling: true}"},
		{"nvidia_smi full", "nvidia_smi: {path: 'TOOL'}"},
		{"nvidia_smi fast", "nvidia_smi: {path: 'TOOL', query: fast}"},
	},
	amd: {{"amdgpu", "amdgpu: {}"}, {"amd_smi", "amd_smi: {}"}, {"rocm_smi", "rocm_smi: {}"}},
}

// sources returns what reads the GPUs of this machine; nothing without GPUs.
func (o *options) sources() []*source {
	var all []*source
	for _, vendor := range []string{nvidia, amd} {
		if o.vendor == "" && !present(vendor) || o.vendor != "" && o.vendor != vendor {
			continue
		}
		for i, v := range vendors[vendor] {
			s := &source{vendor: vendor, name: v.name, scraper: v.scraper, interval: o.interval, targetReads: 4}
			if i > 0 { // a tool, which may take a second or two
				s.interval, s.targetReads = 3*o.interval, 1
			}
			all = append(all, s)
		}
	}
	return all
}

func present(vendor string) bool {
	if vendor == amd {
		drivers, _ := filepath.Glob("/sys/bus/pci/drivers/amdgpu/0*")
		return len(drivers) > 0
	}
	for _, path := range []string{"/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/usr/lib/wsl/lib/libnvidia-ml.so.1"} {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
