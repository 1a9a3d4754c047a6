// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import "go.opentelemetry.io/collector/pdata/pmetric"

// endsSeries reports whether the points of a resource have no values.
func endsSeries(rm pmetric.ResourceMetrics) bool {
	for _, sm := range rm.ScopeMetrics().All() {
		for _, m := range sm.Metrics().All() {
			for _, dp := range numbers(m).All() {
				return dp.Flags().NoRecordedValue()
			}
		}
	}
	return false
}

// Ends checks that each message of a source ends every series of the message before that it lacks, and no other, in the form that
// exporters understand.
type Ends struct {
	streams map[string]bool // of the last message
}

// Add takes the next message and returns the violations.
func (e *Ends) Add(metrics pmetric.Metrics) []string {
	var result violations
	before := e.streams
	present := map[string]bool{}
	points := Points(metrics)
	for i := range points {
		present[points[i].Stream()] = true
	}
	ended := map[string]bool{}
	for _, p := range Ended(metrics) {
		stream := p.Stream()
		switch {
		case present[stream]:
			result.add("%s ends and goes on", stream)
		case !before[stream]:
			result.add("%s ends and was not there", stream)
		case ended[stream]:
			result.add("%s ends twice", stream)
		case p.Value != 0:
			result.add("%s ends with a value", stream)
		case p.Start > p.Time:
			result.add("%s starts after it ends", stream)
		case len(points) > 0 && p.Time >= points[0].Time:
			result.add("%s does not end before the live points", stream)
		}
		ended[stream] = true
	}
	for stream := range before {
		if !present[stream] && !ended[stream] {
			result.add("%s does not end", stream)
		}
	}
	checkEndedResources(&result, metrics)
	e.streams = present
	return result
}

// checkEndedResources checks that ended points come before the live ones, in ResourceMetrics of their own, with one point of a metric.
func checkEndedResources(result *violations, metrics pmetric.Metrics) {
	live := false
	for _, rm := range metrics.ResourceMetrics().All() {
		ends := endsSeries(rm)
		if ends && live {
			result.add("ended points stand after live ones")
		}
		live = live || !ends
		for _, sm := range rm.ScopeMetrics().All() {
			for _, m := range sm.Metrics().All() {
				if ends && numbers(m).Len() != 1 {
					result.add("%s has %d ended points in one resource", m.Name(), numbers(m).Len())
				}
				for _, dp := range numbers(m).All() {
					if dp.Flags().NoRecordedValue() != ends {
						result.add("%s has ended and live points in one resource", m.Name())
					}
				}
			}
		}
	}
}
