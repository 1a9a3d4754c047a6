// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// testContainers reads in containers that differ from the GPU operator's.
func testContainers(t *testing.T, s *stage) {
	s.drivers(t, gpuOperator, "special", false, "bare", bareImage, "toolless", toollessImage, "whole", driverImage)
	target := func(container string) string {
		return "targets: [{label_selector: app=special, container: " + container + "}]"
	}
	t.Run("neither sh nor timeout", func(t *testing.T) {
		t.Parallel()
		b := s.start(t, shippedAccount, target("bare"))
		requireNode(t, b.next(t, twoGPUs))
	})
	t.Run("no tool", func(t *testing.T) {
		t.Parallel()
		b := s.start(t, shippedAccount, target("toolless"))
		b.says(t, "nvidia-smi in container toolless of pod gpu-operator/special-", "tool not found", "choose the container that contains it")
		b.silent(t)
	})
	t.Run("no container", func(t *testing.T) {
		t.Parallel()
		b := s.start(t, shippedAccount, target("another"))
		b.says(t, "has no container another, it has bare, toolless", "correct the container of the target")
		b.silent(t)
	})
	t.Run("query in full", func(t *testing.T) {
		t.Parallel()
		b := s.start(t, shippedAccount, "targets: [{label_selector: app=special, container: whole, query: full}]")
		points := b.next(t, func(points harness.Points) bool { return len(points.Select("hw.temperature")) > 0 })
		requireNode(t, points)
		assert.Contains(t, points.Distinct("hw.serial_number"), "1652923000001", "which only -q -x reports")
	})
	t.Run("a PID namespace of its own", func(t *testing.T) {
		t.Parallel()
		b := s.start(t, shippedAccount, "targets: [{label_selector: app=special, container: whole, query: full}]")
		b.says(t, "the pod does not share the machine's PID namespace (hostPID: true)")
		b.next(t, func(points harness.Points) bool { return len(points.Select("process.gpu.memory.usage")) > 0 })
	})
}
