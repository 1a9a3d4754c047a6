// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import "github.com/otelgpu/gpureceiver/internal/gpu"

// sourceChanges finds when a source becomes unreadable, unreadable for another reason, or readable again.
type sourceChanges struct {
	last *gpu.Failure // nil: readable, or not read yet
}

// next returns the event of a read, if there is one. The first read makes an event only if it failed.
func (s *sourceChanges) next(node *gpu.Node) []gpu.Event {
	before := s.last
	s.last = node.Failure
	switch {
	case before == nil && node.Failure == nil, before != nil && node.Failure != nil && before.Reason == node.Failure.Reason:
		return nil
	case node.Failure == nil:
		return []gpu.Event{{Type: gpu.EventSourceRecovered, Time: node.Time, Vendor: node.Vendor, Source: node.Source, Message: node.Source + " is readable again"}}
	}
	return []gpu.Event{{
		Type: gpu.EventSourceFailed, Time: node.Time, Vendor: node.Vendor, Source: node.Source, Failure: node.Failure,
		Message: node.Source + " cannot be read: " + node.Failure.Error(),
	}}
}
