// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"slices"
	"strings"
)

// PrometheusMetrics returns the names of the declared metrics in Prometheus, by the prometheus exporter with its defaults, and whether each
// is on by default.
func (d *Declared) PrometheusMetrics() (declared, enabled map[string]bool) {
	declared, enabled = make(map[string]bool, len(d.Metrics)), make(map[string]bool, len(d.Metrics))
	for name, m := range d.Metrics {
		prometheusName := nameOf(strategies[0], name, m.Unit, m.kind())
		declared[prometheusName], enabled[prometheusName] = true, m.Enabled
	}
	return declared, enabled
}

// Label is an attribute in Prometheus.
type Label struct{ attribute }

// PrometheusLabels returns the declared attributes by their names in Prometheus.
func (d *Declared) PrometheusLabels() map[string]Label {
	result := make(map[string]Label, len(d.Attributes)+len(d.ResourceAttributes))
	for name, a := range d.ResourceAttributes {
		result[labelOf(name)] = Label{a}
	}
	for name, a := range d.Attributes {
		result[labelOf(name)] = Label{a}
	}
	return result
}

// CanBe reports whether the label can have a value: one of its enumeration, or, without one, a word of its description.
func (l Label) CanBe(value string) bool {
	if len(l.Enum) > 0 {
		return slices.Contains(l.Enum, value)
	}
	words := strings.FieldsFunc(l.Description, func(r rune) bool { return strings.ContainsRune(" ,.:;()", r) })
	return slices.Contains(words, value)
}
