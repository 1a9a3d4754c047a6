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

// source says what is missing, and counts what the PCI bus shows.
type source struct {
	opts options
	bus  pciBus
	node gpu.Node
}

// New returns a source that says in each node that it was built without NVML.
func New(_ *Config, _ gpu.Group, opts ...Option) gpu.Source {
	s := &source{opts: newOptions(opts)}
	s.bus.root = s.opts.sysRoot
	return s
}

func (s *source) Read(context.Context) (*gpu.Node, error) {
	now := s.opts.now()
	s.bus.look(now, false)
	s.node = gpu.Node{
		Vendor:   gpu.NVIDIA,
		Time:     now,
		Problems: []gpu.Problem{{Kind: gpu.ProblemSource, What: "library", Err: errNotCompiled}},
	}
	s.node.Presence = s.bus.presence()
	return &s.node, nil
}

func (s *source) Close() error { return nil }
