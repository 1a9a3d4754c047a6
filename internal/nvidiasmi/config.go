// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// The values of Config.Query.
const (
	// QueryFull runs -q -x, pmon, and -L if the layout of GPUs and MIG devices has changed.
	QueryFull = "full"
	// QueryFast runs --query-gpu, --query-compute-apps and pmon, and --query-remapped-rows if --query-gpu has no remapped rows. It runs -q
	// -x once for new GPUs, to learn the numbers of their device nodes. It has no temperature limits, no PCIe replays, and no graphics
	// processes if pmon does not list them. A node on which MIG is enabled is still read in full.
	QueryFast = "fast"
)

// Config is the configuration of the nvidia_smi scraper.
type Config struct {
	// Path of the tool, absolute and ending with its name. An empty path selects the first of the usual places.
	Path string `mapstructure:"path"`
	// Query is full or fast.
	Query string `mapstructure:"query"`
	// WakeDevices runs the tool although the kernel has put all GPUs to sleep (runtime power management), which wakes them.
	WakeDevices bool `mapstructure:"wake_devices"`
}

// DefaultConfig returns the defaults: the tool in its usual place, and the full query.
func DefaultConfig() Config { return Config{Query: QueryFull} }

// Check returns an error that names the wrong key.
func (c *Config) Check() error {
	if c.Query != QueryFull && c.Query != QueryFast {
		return fmt.Errorf("query: %q must be %s or %s", c.Query, QueryFull, QueryFast)
	}
	if err := command.ValidatePath(command.NvidiaSMI, c.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}
