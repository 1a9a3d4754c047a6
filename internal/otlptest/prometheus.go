// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"fmt"
	"maps"
	"slices"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// PrometheusViolations returns the series that collide in Prometheus: from the prometheus exporter with and without the attributes of
// resources as labels (resource_constant_labels), and over OTLP, which may also turn a resource attribute into a label.
func PrometheusViolations(metrics pmetric.Metrics) []string {
	var result violations
	names, labels := map[string]string{}, map[string]string{}
	alone, converted := map[string]string{}, map[string]string{}
	points := Points(metrics)
	for i := range points {
		p := &points[i]
		key := p.Metric + " " + p.Unit + " " + p.Kind
		if names[key] == "" {
			names[key] = nameOf(strategies[0], p.Metric, p.Unit, p.Kind)
		}
		own := labelsOf(&result, p, labels, p.Attributes)
		resourceLabels := labelsOf(&result, p, labels, p.Resource)
		for label, value := range own {
			if other, ok := resourceLabels[label]; ok && fmt.Sprint(other) != fmt.Sprint(value) {
				result.add("%s: the label %s is %v, of the resource %v", p.Series(), label, value, other)
			}
		}
		maps.Copy(resourceLabels, own)
		stream := p.Stream()
		once(&result, alone, names[key]+text(own), stream, "without the resource")
		once(&result, converted, names[key]+text(resourceLabels), stream, "with the resource")
	}
	return result
}

// once checks that two streams are not one series.
func once(result *violations, streams map[string]string, series, stream, how string) {
	if other, ok := streams[series]; ok {
		result.add("%s and %s are %s %s", min(other, stream), max(other, stream), series, how)
	}
	streams[series] = stream
}

// labelsOf returns attributes as labels. known are the labels of attributes that were translated before.
func labelsOf(result *violations, p *Point, known map[string]string, attributes map[string]any) map[string]any {
	labels := make(map[string]any, len(attributes))
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if known[name] == "" {
			known[name] = labelOf(name)
		}
		if _, ok := labels[known[name]]; ok {
			result.add("%s: %s is the label %s of another attribute", p.Series(), name, known[name])
		}
		labels[known[name]] = attributes[name]
	}
	return labels
}
