// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import "github.com/otelgpu/gpureceiver/internal/attribution/slurm"

// SlurmRead is which devices Slurm's jobs hold.
type SlurmRead struct {
	Path    string // that was read
	Devices int    // that jobs hold
	Err     error
}

// ReadSlurm reads which devices Slurm's jobs hold, whether or not there are GPUs. It returns nil where the configuration has no slurm.
func (e *Examination) ReadSlurm() *SlurmRead {
	cfg := e.sources.cfg.Attribution.Slurm
	if cfg == nil {
		return nil
	}
	path, read := cfg.MappingDir, slurm.ReadMapping
	if path == "" {
		path, read = cfg.DevicesPath, slurm.ReadDevices
	}
	found, err := read(path)
	return &SlurmRead{Path: path, Devices: len(found.Jobs), Err: err}
}
