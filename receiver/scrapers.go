// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
)

// scraperKind is one way to read the GPUs of this machine.
type scraperKind struct {
	vendor        gpu.Vendor
	defaultConfig func() component.Config
	newSource     func(cfg component.Config, want gpu.Group, interval time.Duration) (gpu.Source, error)
}

// opener makes the source of a configured scraper. It is openSource but in tests.
type opener func(key string, cfg *Config, want gpu.Group) (gpu.Source, error)

func openSource(key string, cfg *Config, want gpu.Group) (gpu.Source, error) {
	return scraperKinds[key].newSource(cfg.scraperConfig(key), want, cfg.ControllerConfig.CollectionInterval)
}

// defaultScrapers run where none is configured: one for each vendor, as a machine without its GPUs is no error.
var defaultScrapers = []string{"amdgpu", "nvml"}

// scraperKinds are the scrapers by the key under which they are configured.
var scraperKinds = map[string]scraperKind{
	"amdgpu": {
		vendor:        gpu.AMD,
		defaultConfig: func() component.Config { cfg := amdgpu.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			return amdgpu.New(*cfg.(*amdgpu.Config), want)
		},
	},
	"amd_smi": {
		vendor:        gpu.AMD,
		defaultConfig: func() component.Config { cfg := amdsmi.DefaultAMDConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			c := cfg.(*amdsmi.AMDConfig)
			runner, err := command.NewLocal(command.AMDSMI, c.Path)
			if err != nil {
				return nil, err
			}
			return amdsmi.NewAMD(c, runner, want), nil
		},
	},
	clusterKey: {defaultConfig: defaultClusterConfig}, // no source: see cluster.go
	fleetKey:   {defaultConfig: defaultFleetConfig},   // no source: see fleet.go
	"nvidia_smi": {
		vendor:        gpu.NVIDIA,
		defaultConfig: func() component.Config { cfg := nvidiasmi.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			return nvidiasmi.NewLocal(*cfg.(*nvidiasmi.Config), want)
		},
	},
	"nvml": {
		vendor:        gpu.NVIDIA,
		defaultConfig: func() component.Config { cfg := nvml.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, interval time.Duration) (gpu.Source, error) {
			return nvml.New(cfg.(*nvml.Config), want, nvml.WithInterval(interval)), nil
		},
	},
	"rocm_smi": {
		vendor:        gpu.AMD,
		defaultConfig: func() component.Config { cfg := amdsmi.DefaultROCmConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			c := cfg.(*amdsmi.ROCmConfig)
			runner, err := command.NewLocal(command.ROCmSMI, c.Path)
			if err != nil {
				return nil, err
			}
			return amdsmi.NewROCm(c, runner, want), nil
		},
	},
}
