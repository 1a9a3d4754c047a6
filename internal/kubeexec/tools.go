// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
)

// The values of TargetConfig.Tool.
const (
	ToolNvidiaSMI = "nvidia_smi"
	ToolROCmSMI   = "rocm_smi"
	ToolAMDSMI    = "amd_smi"
)

// toolSource reads GPUs with a tool. Reset prepares it for another container, whose tool and driver may differ. The GPUs are the same.
type toolSource interface {
	gpu.Source
	Reset()
}

// tools are the known tools by their names in a configuration.
var tools = map[string]struct {
	command command.Tool
	vendor  gpu.Vendor
	source  func(target *TargetConfig, runner command.Runner, want gpu.Group) toolSource
}{
	ToolNvidiaSMI: {command.NvidiaSMI, gpu.NVIDIA, func(target *TargetConfig, runner command.Runner, want gpu.Group) toolSource {
		return nvidiasmi.New(nvidiasmi.Config{Query: target.Query}, runner, want)
	}},
	ToolROCmSMI: {command.ROCmSMI, gpu.AMD, func(_ *TargetConfig, runner command.Runner, want gpu.Group) toolSource {
		return rocmsmi.New(&rocmsmi.Config{}, runner, want)
	}},
	ToolAMDSMI: {command.AMDSMI, gpu.AMD, func(_ *TargetConfig, runner command.Runner, want gpu.Group) toolSource {
		return amdsmi.New(&amdsmi.Config{}, runner, want)
	}},
}
