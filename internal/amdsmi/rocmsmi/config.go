// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// Config is the configuration of the rocm_smi scraper.
type Config struct {
	// Path is the absolute path of rocm-smi. If it is empty, the places in which ROCm and the distributions install it are searched.
	Path string `mapstructure:"path"`
}

// Check returns what is wrong, by key.
func (c *Config) Check() error {
	if err := command.ValidatePath(command.ROCmSMI, c.Path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// DefaultConfig returns the configuration of a scraper without settings.
func DefaultConfig() Config { return Config{} }
