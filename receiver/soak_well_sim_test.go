// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package gpureceiver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// ofDevice is what is told of a device, but for what depends on pods, on what happens, and on the driver's being kept open.
func ofDevice(points []otlptest.Point, id string) []string {
	var series []string
	for _, p := range points {
		if p.Attributes["hw.id"] == id && strings.HasPrefix(p.Metric, "hw.") && p.Metric != "hw.gpu.allocated" &&
			p.Attributes["hw.gpu.xid"] == nil && p.Metric != "hw.gpu.info" && p.Metric != "hw.gpu.pipe.utilization" && p.Metric != "hw.gpu.sm.occupancy" {
			series = append(series, p.Series())
		}
	}
	slices.Sort(series)
	return series
}

// checkUntouched demands that a device to which nothing happens has all that it has, and goes on to count.
func (s *soak) checkUntouched(points []otlptest.Point) []string {
	var found []string
	for id, want := range s.seen.well {
		if at, there := s.seen.places[id]; !there || s.node.touched(at) {
			continue
		}
		if slices.ContainsFunc(points, func(p otlptest.Point) bool {
			return p.Metric == "hw.gpu.fault" && p.Attributes["hw.id"] == id && p.Attributes["error.type"] == "hung"
		}) {
			continue // the machine is slow
		}
		if got := ofDevice(points, id); !slices.Equal(want, got) {
			found = append(found, fmt.Sprintf("%s, to which nothing happened, lacks %q and has more %q", id, without(want, got), without(got, want)))
		}
		for _, series := range s.history.Restarted {
			if strings.HasPrefix(series, "hw.") && strings.Contains(series, id) && !strings.Contains(series, "hw.parent="+id) {
				found = append(found, series+" has begun anew for no reason")
			}
		}
	}
	return found
}

func without(all, less []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(less, s) })
}

// heal ends all that is wrong, and reads until what is sent is what is true.
func (s *soak) heal() {
	s.t.Helper()
	s.note("all is mended")
	s.node.mend()
	s.jump = 0
	var wrong string
	well := 0
	for range 200 {
		s.pass(10)
		s.apply()
		points := s.look(10 * time.Second)
		if wrong = s.wrong(points) + s.lacking(points); wrong == "" {
			if well++; well == 3 {
				s.remember(points)
				return
			}
			continue
		}
		well = 0
		time.Sleep(time.Millisecond)
	}
	require.Fail(s.t, "what is sent is not what is true", "%s\n%s", wrong, s.story())
}

// lacking tells what is not there again of what is told of a device when all is well.
func (s *soak) lacking(points []otlptest.Point) string {
	var lacking []string
	for id, want := range s.seen.well {
		if _, there := s.history.States[id]; there {
			lacking = append(lacking, without(want, ofDevice(points, id))...)
		}
	}
	return strings.Join(lacking, "\n")
}

// remember keeps what is told of each device now that all is well.
func (s *soak) remember(points []otlptest.Point) {
	if s.seen.well == nil {
		s.seen.well = map[string][]string{}
	}
	s.seen.places = map[string]string{}
	for _, p := range otlptest.Of(points, "hw.gpu.info") {
		id := p.Attributes["hw.id"].(string)
		s.seen.well[id] = ofDevice(points, id)
		s.seen.places[id], _ = p.Attributes["hw.gpu.pci.address"].(string)
	}
	s.history.ClockSet = false
	s.node.settle()
}
