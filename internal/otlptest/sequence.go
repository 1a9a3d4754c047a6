// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// Sequence checks the messages of one source, one after the other, as a backend that drops resources sees them.
type Sequence struct {
	// Restarted are the counters that the last message started again, although it is later than the previous message.
	Restarted []string
	// States are the states of the devices in the last message, by hw.id; Before are those in the previous message. A device without a
	// state, which could not be read, keeps the one that it had.
	States, Before map[string]string
	// ClockSet: the clock was set, so a counter may start again before the time of its last point.
	ClockSet bool
	// Changing are attributes of a device that may change, in addition to the driver version.
	Changing []string

	counters   map[string]Point
	identities map[infoOf]map[string]any // of the devices in the last message
}

// infoOf is one of the metrics that describe a device: hw.gpu.info or hw.gpu.board.info.
type infoOf struct{ metric, id string }

// Add takes the next message and returns the violations with regard to the previous messages.
func (s *Sequence) Add(metrics pmetric.Metrics) []string {
	if s.counters == nil {
		s.counters, s.identities = map[string]Point{}, map[infoOf]map[string]any{}
	}
	var result violations
	points := Points(metrics)
	s.Restarted, s.Before, s.States = nil, s.States, map[string]string{}
	if len(points) == 0 {
		return nil
	}
	grown := map[string]float64{}      // energy by device
	attributed := map[string]float64{} // to containers
	for i := range points {
		p := &points[i]
		id, _ := p.Attributes["hw.id"].(string)
		if p.Metric == "hw.status" && p.Value == 1 {
			s.States[id] = p.Attributes["hw.state"].(string)
		}
		if p.Metric == "hw.gpu.info" || p.Metric == "hw.gpu.board.info" {
			s.identify(&result, id, p)
		}
		if p.Kind != "counter" {
			continue
		}
		delta, elapsed := s.count(&result, p)
		switch p.Metric {
		case "hw.energy":
			grown[id] = delta
		case "container.gpu.energy":
			attributed[id] += delta
		case "container.gpu.idle.time":
			if !within(delta, elapsed) {
				result.add("%s grew by %v in %v s", p.Series(), delta, elapsed)
			}
		}
		if strings.HasPrefix(p.Metric, "container.") && p.Start == p.Time && p.Value != 0 {
			result.add("%s starts with %v", p.Series(), p.Value)
		}
	}
	for _, p := range Of(points, "hw.gpu.info") {
		id, _ := p.Attributes["hw.id"].(string)
		if before := s.Before[id]; before != "" && s.States[id] == "" {
			s.States[id] = before
		}
	}
	maps.DeleteFunc(s.identities, func(key infoOf, _ map[string]any) bool { return s.States[key.id] == "" })
	for id, joules := range attributed {
		if !within(joules, grown[id]) {
			result.add("%s: %v joules of %v are attributed to containers", id, joules, grown[id])
		}
	}
	return result
}

// count compares a counter with its last point. It returns by how much the counter grew, in how many seconds.
func (s *Sequence) count(result *violations, p *Point) (delta, elapsed float64) {
	series := p.Series()
	last, ok := s.counters[series]
	s.counters[series] = *p
	if !ok {
		return 0, 0
	}
	switch {
	case p.Start == last.Start && p.Value < last.Value:
		result.add("%s fell from %v to %v", series, last.Value, p.Value)
	case p.Start == last.Start:
		return p.Value - last.Value, time.Duration(max(p.Time, last.Time) - last.Time).Seconds()
	case p.Time < last.Time: // the clock was set back
	case p.Start < last.Start && !s.ClockSet:
		result.add("%s started at %v, and then at %v", series, last.Start.AsTime(), p.Start.AsTime())
	case p.Start < last.Time && !s.ClockSet:
		result.add("%s started again at %v, before its last point of %v", series, p.Start.AsTime(), last.Time.AsTime())
	default:
		s.Restarted = append(s.Restarted, series)
	}
	return 0, 0
}

// identify checks that the identity of a device does not change while the device is reported.
func (s *Sequence) identify(result *violations, id string, p *Point) {
	key := infoOf{p.Metric, id}
	known := s.identities[key]
	if known == nil {
		known = map[string]any{}
		s.identities[key] = known
	}
	for name, value := range known {
		now, ok := p.Attributes[name]
		if !ok || now != value && name != "hw.driver_version" && !slices.Contains(s.Changing, name) {
			result.add("%s: %s was %v and is %v", id, name, value, now)
		}
	}
	for name, value := range p.Attributes {
		if strings.HasPrefix(name, "hw.") && name != "hw.gpu.index" { // which identifies nothing
			known[name] = value
		}
	}
}
