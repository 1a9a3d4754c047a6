// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"errors"
	"path/filepath"
)

// Config is the configuration of the nvml scraper.
type Config struct {
	// LibraryPath is the absolute path of libnvidia-ml.so.1. If it is empty, the dynamic loader's own search, then the places of NVIDIA's
	// container runtime, GKE and the GPU operator are tried.
	LibraryPath string `mapstructure:"library_path"`

	// KeepOpen keeps NVML initialised between reads. Off, it is initialised for each read, so that the collector does not block GPU
	// reset, MIG reconfiguration, driver unload and VFIO binding; events between two reads (XIDs) are then not seen. Kept open, NVML
	// nevertheless does not hold a device between reads while it needs a reset.
	KeepOpen bool `mapstructure:"keep_open"`

	// WakeDevices reads GPUs that the kernel has put to sleep (runtime power management), which wakes them, and leaves NVML open although that
	// keeps them awake.
	WakeDevices bool `mapstructure:"wake_devices"`

	// PCIeSampling adds PCIe traffic up if the driver's byte counters are missing or have 32 bits. On Hopper and later GPM has the mean
	// since the last read. On other GPUs the driver measures for 20 ms, twice for each GPU and read, and the counters are an estimate: the
	// measured rate times the time since the last read.
	PCIeSampling bool `mapstructure:"pcie_sampling"`
}

// DefaultConfig returns the default configuration.
func DefaultConfig() Config { return Config{KeepOpen: true} }

// Check returns what is wrong, by key.
func (c *Config) Check() error {
	if c.LibraryPath != "" && !filepath.IsAbs(c.LibraryPath) {
		return errors.New("library_path: must be an absolute path, or empty for the dynamic loader's search; got \"" +
			c.LibraryPath + "\"")
	}
	return nil
}
