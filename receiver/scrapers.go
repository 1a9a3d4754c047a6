// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/amdgpu"
	"github.com/otelgpu/gpureceiver/internal/amdsmi"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/rocmsmi"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi"
	"github.com/otelgpu/gpureceiver/internal/nvml"
)

// scraperKind is a scraper that can be configured.
type scraperKind struct {
	vendor        gpu.Vendor // whose GPUs of this machine it reads; empty: it reads none
	defaultConfig func() component.Config
	newSource     func(cfg component.Config, want gpu.Group, interval time.Duration) (gpu.Source, error)
}

// local reports whether the scraper reads GPUs of this machine.
func (k scraperKind) local() bool { return k.newSource != nil }

// sysfs returns the mount point of sysfs of the machine whose GPUs a local scraper reads.
func (c *Config) sysfs(key string) string {
	if cfg, ok := c.scraperConfig(key).(*amdgpu.Config); ok {
		return filepath.Join(cfg.RootPath, "sys")
	}
	return "/sys"
}

// defaultScrapers run if no scraper is configured: one for each vendor. A machine without the vendor's GPUs is not an error.
var defaultScrapers = []string{"amdgpu", "nvml"}

// scraperKinds are the scrapers by their key below scrapers. A new source is one entry.
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
		defaultConfig: func() component.Config { cfg := amdsmi.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			c := cfg.(*amdsmi.Config)
			runner, err := command.NewLocal(command.AMDSMI, c.Path)
			if err != nil {
				return nil, err
			}
			return amdsmi.New(c, runner, want), nil
		},
	},
	clusterKey: {defaultConfig: defaultClusterConfig}, // reads the Kubernetes API, see cluster.go
	fleetKey:   {defaultConfig: defaultFleetConfig},   // reads remote nodes, see fleet.go
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
		defaultConfig: func() component.Config { cfg := rocmsmi.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, _ time.Duration) (gpu.Source, error) {
			c := cfg.(*rocmsmi.Config)
			runner, err := command.NewLocal(command.ROCmSMI, c.Path)
			if err != nil {
				return nil, err
			}
			return rocmsmi.New(c, runner, want), nil
		},
	},
}

// clusterKey is the scraper that reports how a cluster's GPUs are requested. It reads the Kubernetes API and no GPU, so it runs
// once in a cluster and never beside the scrapers of a machine.
const clusterKey = "kubernetes_cluster"

// fleetKey is the scraper that reads nodes without an agent, on a schedule of its own.
const fleetKey = "kubernetes_exec"

func defaultFleetConfig() component.Config { cfg := kubeexec.DefaultConfig(); return &cfg }

const scrapersKey = "scrapers"

func allowedScrapers() string {
	return strings.Join(slices.Sorted(maps.Keys(scraperKinds)), ", ")
}
