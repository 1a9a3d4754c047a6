// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !cgo

package nvml

import (
	"context"
	"errors"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

var errNotCompiled = errors.New("NVML support was not compiled in: build with cgo on linux")

// source reports that it was built without NVML, and counts what the PCI bus shows.
type source struct {
	opts options
	bus  *bus
}

// New returns a source that reports in each node that it was built without NVML.
func New(_ *Config, _ gpu.Group, opts ...Option) gpu.Source {
	o := newOptions(opts)
	return &source{opts: o, bus: newBus(o.sysRoot, o.patience)}
}

func (s *source) Read(ctx context.Context) (*gpu.Node, error) {
	s.bus.scan(ctx, false)
	node := &gpu.Node{
		Vendor:      gpu.NVIDIA,
		Time:        s.opts.now(),
		Problems:    []gpu.Problem{{Kind: gpu.ProblemSource, What: "library", Err: errNotCompiled}},
		Failure:     &gpu.Failure{Reason: gpu.FailureLibrary, Err: errNotCompiled},
		OtherDriver: s.bus.otherDriver(),
	}
	node.Presence = s.bus.presence()
	return node, nil
}

func (s *source) Close() error { return nil }
