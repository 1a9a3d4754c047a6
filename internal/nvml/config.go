// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"path/filepath"
)

// Config is the configuration of the nvml scraper.
type Config struct {
	// LibraryPath is the absolute path of libnvidia-ml.so.1. Empty: the dynamic loader's own search, then the places
	// where NVIDIA's container runtime, GKE and the GPU operator put it.
	LibraryPath string `mapstructure:"library_path"`

	// KeepOpen keeps NVML initialised between reads. Off, it is opened for each read and closed after, so that GPU
	// reset, MIG reconfiguration, driver unload and VFIO binding are not blocked by the collector; events between two
	// reads (XIDs) are then not seen. Kept open, NVML is nevertheless released between reads as long as a device needs
	// a reset.
	KeepOpen bool `mapstructure:"keep_open"`

	// PCIeSampling adds PCIe traffic up where the driver's byte counters are missing or have 32 bits. On Hopper and later GPM
	// tells the mean since the last read. Elsewhere the driver measures for 20 ms, twice per GPU and read, and the counters are
	// an estimate: the rate seen times the time since the last read.
	PCIeSampling bool `mapstructure:"pcie_sampling"`
}

// DefaultConfig returns the configuration of a scraper of which nothing was said.
func DefaultConfig() Config { return Config{KeepOpen: true} }

// Check returns what is wrong, by key.
func (c *Config) Check() error {
	if c.LibraryPath != "" && !filepath.IsAbs(c.LibraryPath) {
		return errors.New("library_path: must be an absolute path, or empty for the dynamic loader's search; got \"" +
			c.LibraryPath + "\"")
	}
	return nil
}
