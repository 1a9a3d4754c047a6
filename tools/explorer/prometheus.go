// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "github.com/prometheus/otlptranslator"

// prometheusName is the name that the prometheus exporter, and Prometheus itself, give a metric by default.
func prometheusName(name string, m *metric) (string, error) {
	types := map[string]otlptranslator.MetricType{
		"gauge": otlptranslator.MetricTypeGauge, "counter": otlptranslator.MetricTypeMonotonicCounter, "updowncounter": otlptranslator.MetricTypeNonMonotonicCounter,
	}
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes)
	return namer.Build(otlptranslator.Metric{Name: name, Unit: m.Unit, Type: types[m.instrument()]})
}

// telemetryName is the name of one of the collector's own metrics on its page for Prometheus.
func telemetryName(name string) string { return "otelcol_" + name }

// label is the name of an attribute.
func label(name string) (string, error) {
	return (&otlptranslator.LabelNamer{}).Build(name)
}
