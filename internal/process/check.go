// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// Check returns why the process table must not be used, or does not have every process; nil if it is the machine's own.
func (r *Reader) Check() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var node gpu.Node
	if err := r.check(&node); err != nil {
		return err
	}
	var errs []error
	for _, p := range node.Problems {
		errs = append(errs, p.Err)
	}
	return errors.Join(errs...)
}
