// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/otlptest"
	"github.com/otelgpu/gpureceiver/test/amdgpusim"
)

// faultsAndStates returns by hw.name what is wrong with each GPU, and its state.
func faultsAndStates(points []otlptest.Point) map[any][]string {
	got := map[any][]string{}
	for _, p := range otlptest.Of(points, "hw.gpu.info") {
		got[p.Attributes["hw.name"]] = []string{state(points, p.Attributes["hw.id"].(string))}
	}
	for _, p := range otlptest.Of(points, "hw.gpu.fault") {
		if name := p.Attributes["hw.name"]; p.Value == 1 {
			got[name] = append(got[name], p.Attributes["error.type"].(string))
		}
	}
	return got
}

// What the vendor calls wrong counts in hw.status, as an event and as a metric, and ends with its cause.
func TestHardwareFaults(t *testing.T) {
	s := simulate(t, "gpus = 3\n[gpu *]\nboard = h100\n[gpu 1]\nfabric.health = 0x1a9\n[gpu 2]\nsram.threshold_exceeded = 1")
	s.run(s.newMetrics(), s.newLogs())
	want := map[any][]string{"nvidia0": {"ok"}, "nvidia1": {"degraded", "fabric"}, "nvidia2": {"predicted_failure", "sram_threshold"}}
	s.newest(func(points []otlptest.Point) bool { return assert.ObjectsAreEqual(want, faultsAndStates(points)) }, "the faults are sent")

	actions := map[string]string{}
	eventually(t, func() bool {
		for _, record := range records(s.logs) {
			name, _ := record.Attributes().Get("hw.name")
			action, _ := record.Attributes().Get("hw.gpu.recommended_action")
			if record.EventName() == "hw.gpu.status" {
				actions[name.Str()] = action.Str()
			}
		}
		return len(actions) >= 2
	}, "the events are sent")
	assert.Equal(t, map[string]string{"nvidia1": "check_fabric", "nvidia2": "replace_gpu"}, actions)

	s.set("[gpu 1]\nfabric.health = 0x1aa\n[gpu 2]\nsram.threshold_exceeded = 0")
	s.newest(func(points []otlptest.Point) bool {
		return assert.ObjectsAreEqual(map[any][]string{"nvidia0": {"ok"}, "nvidia1": {"ok"}, "nvidia2": {"ok"}}, faultsAndStates(points))
	}, "the faults have ended")
}

// The maximum number of bad pages of an MI300X predicts a failure; one fewer does not.
func TestBadPagesAtTheirLimit(t *testing.T) {
	m := amdgpusim.MI300XSPX()
	m.Cards[0].BadPages, m.Cards[0].BadPageLimit = 128, 128
	m.Cards[1].BadPages, m.Cards[1].BadPageLimit = 127, 128
	points := otlptest.Points(amdgpuAfterHalfAMinute(t, m, metadata.NewDefaultMetricsBuilderConfig()))
	assert.Equal(t, map[any][]string{"card1": {"predicted_failure", "bad_page_threshold"}, "card2": {"ok"}}, faultsAndStates(points))
}
