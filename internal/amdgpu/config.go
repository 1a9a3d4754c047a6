// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Config is the configuration of the amdgpu scraper.
type Config struct {
	// RootPath is the mount point of the machine's file system: / on the machine itself, /host in a container that mounts it there. Files
	// are read below its sys and proc.
	RootPath string `mapstructure:"root_path"`
	// WakeDevices reads GPUs that the kernel has put to sleep (runtime power management), which wakes them.
	WakeDevices bool `mapstructure:"wake_devices"`
}

// DefaultConfig returns the configuration of a scraper that sets no keys.
func DefaultConfig() Config { return Config{RootPath: "/"} }

// Check returns what is wrong, by key.
func (c *Config) Check() error {
	if c.RootPath == "" {
		return errors.New("root_path: empty; give the directory in which the machine's sys and proc are, / for this machine")
	}
	if !filepath.IsAbs(c.RootPath) {
		return fmt.Errorf("root_path: %q is not an absolute path", c.RootPath)
	}
	return nil
}
