// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"fmt"
	"time"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// ROCmConfig is the configuration of the rocm_smi scraper.
type ROCmConfig struct {
	// Path is the absolute path of rocm-smi. Empty: the places where ROCm and the distributions put it.
	Path string `mapstructure:"path"`
}

// DefaultROCmConfig returns the configuration of a scraper of which nothing was said.
func DefaultROCmConfig() ROCmConfig { return ROCmConfig{} }

// Check returns what is wrong, by key.
func (c *ROCmConfig) Check() error { return validatePath(command.ROCmSMI, c.Path) }

// AMDConfig is the configuration of the amd_smi scraper.
type AMDConfig struct {
	// Path is the absolute path of amd-smi. Empty: the places where ROCm and the distributions put it.
	Path string `mapstructure:"path"`
}

// DefaultAMDConfig returns the configuration of a scraper of which nothing was said.
func DefaultAMDConfig() AMDConfig { return AMDConfig{} }

// Check returns what is wrong, by key.
func (c *AMDConfig) Check() error { return validatePath(command.AMDSMI, c.Path) }

func validatePath(tool command.Tool, path string) error {
	if err := command.ValidatePath(tool, path); err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// Option changes how a source works.
type Option func(now *func() time.Time)

// WithClock sets the clock.
func WithClock(now func() time.Time) Option { return func(of *func() time.Time) { *of = now } }
