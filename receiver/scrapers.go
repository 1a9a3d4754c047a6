// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvml"
)

// scraperKind is one way to read the GPUs of this machine.
type scraperKind struct {
	vendor        gpu.Vendor
	defaultConfig func() component.Config
	newSource     func(cfg component.Config, want gpu.Group, interval time.Duration) (gpu.Source, error)
}

// defaultScrapers run where none is configured.
var defaultScrapers = []string{"nvml"}

// scraperKinds are the scrapers by the key under which they are configured.
var scraperKinds = map[string]scraperKind{
	"nvml": {
		vendor:        gpu.NVIDIA,
		defaultConfig: func() component.Config { cfg := nvml.DefaultConfig(); return &cfg },
		newSource: func(cfg component.Config, want gpu.Group, interval time.Duration) (gpu.Source, error) {
			return nvml.New(cfg.(*nvml.Config), want, nvml.WithInterval(interval)), nil
		},
	},
}
