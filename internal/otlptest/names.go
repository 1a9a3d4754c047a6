// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/otlptranslator"
)

// nameForm is the form of names in the semantic conventions: lower case, namespaces separated by dots, words by underscores.
var nameForm = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*(\.[a-z][a-z0-9]*(_[a-z0-9]+)*)+$`)

// singular are words that end in s but are singular.
var singular = []string{"address", "k8s", "process", "status"}

// units are the units that the last word of a name prescribes: https://opentelemetry.io/docs/specs/semconv/general/metrics/.
var units = map[string]string{"utilization": "1", "time": "s", "io": "By", "energy": "J", "power": "W", "errors": "{error}"}

// NameViolations returns the declared names that break the naming rules of the semantic conventions, and the metrics that get the same
// name in Prometheus. others are attributes that the conventions have.
func (d *Declared) NameViolations(others []string) []string {
	var result violations
	attributes := slices.Concat(slices.Collect(maps.Keys(d.Attributes)), slices.Collect(maps.Keys(d.ResourceAttributes)), others)
	metrics := slices.Collect(maps.Keys(d.Metrics))
	for _, name := range slices.Concat(attributes, metrics, slices.Collect(maps.Keys(d.Events))) {
		checkForm(&result, name)
	}
	checkNamespaces(&result, attributes, "")
	checkNamespaces(&result, metrics, ".limit")
	for name, m := range d.Metrics {
		checkWords(&result, name, m.Unit)
		base := strings.TrimSuffix(name, ".limit")
		for _, candidate := range []string{base, base + ".usage"} {
			if other, ok := d.Metrics[candidate]; ok && base != name && other.Unit != m.Unit {
				result.add("%s has the unit %s, %s has %s", name, m.Unit, candidate, other.Unit)
			}
		}
	}
	d.checkPrometheusNames(&result)
	slices.Sort(result)
	return result
}

// checkForm checks the form of a name, and that its namespaces are singular.
func checkForm(result *violations, name string) {
	if !nameForm.MatchString(name) {
		result.add("%s is not in lower case with dots and underscores", name)
	}
	words := strings.Split(name, ".")
	for _, word := range words[:len(words)-1] {
		if strings.HasSuffix(word, "s") && !slices.Contains(singular, word) {
			result.add("%s: the namespace %s is a plural", name, word)
		}
	}
}

// checkNamespaces checks that no name is the namespace of another one, except of one with the allowed ending.
func checkNamespaces(result *violations, names []string, allowed string) {
	for _, name := range names {
		for _, other := range names {
			if rest, ok := strings.CutPrefix(other, name+"."); ok && "."+rest != allowed {
				result.add("%s is a name, and the namespace of %s", name, other)
			}
		}
	}
}

// checkWords checks the last word of a metric's name against its unit.
func checkWords(result *violations, name, unit string) {
	last := name[strings.LastIndex(name, ".")+1:]
	if want := units[last]; want != "" && unit != want {
		result.add("%s has the unit %s, its name says %s", name, unit, want)
	}
	if strings.HasSuffix(last, "s") && !slices.Contains(singular, last) && !strings.HasPrefix(unit, "{") {
		result.add("%s is a plural, but counts nothing", name)
	}
	for _, word := range []string{"total", "bytes", "seconds", "joules", "watts"} {
		if strings.Contains(name, word) {
			result.add("%s: %s is added by Prometheus, and is no part of the name", name, word)
		}
	}
}

// checkPrometheusNames checks that the names of metrics and attributes stay different in Prometheus.
func (d *Declared) checkPrometheusNames(result *violations) {
	labels := map[string]string{}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(d.Attributes)), slices.Collect(maps.Keys(d.ResourceAttributes))) {
		label := labelOf(name)
		if other, ok := labels[label]; ok && other != name {
			result.add("%s and %s are the label %s", min(name, other), max(name, other), label)
		}
		labels[label] = name
		if slices.Contains([]string{"job", "instance", "le", "quantile"}, label) || strings.HasPrefix(label, "otel_scope_") {
			result.add("%s is the label %s, which Prometheus or its exporter sets", name, label)
		}
	}
	for _, strategy := range strategies {
		names := map[string]string{"target_info": "Prometheus", "otel_scope_info": "the exporter"}
		for name, m := range d.Metrics {
			translated := nameOf(strategy, name, m.Unit, m.kind())
			if other, ok := names[translated]; ok {
				result.add("%s and %s are %s (%s)", min(name, other), max(name, other), translated, strategy)
			}
			names[translated] = name
		}
	}
}

// strategies are the ways in which Prometheus translates names. The first is the one of the prometheus exporter, and the default of both.
var strategies = []otlptranslator.TranslationStrategyOption{
	otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.UnderscoreEscapingWithoutSuffixes,
	otlptranslator.NoUTF8EscapingWithSuffixes, otlptranslator.NoTranslation,
}

// nameOf returns a metric's name in Prometheus.
func nameOf(strategy otlptranslator.TranslationStrategyOption, name, unit, kind string) string {
	types := map[string]otlptranslator.MetricType{
		"gauge": otlptranslator.MetricTypeGauge, "counter": otlptranslator.MetricTypeMonotonicCounter, "updowncounter": otlptranslator.MetricTypeNonMonotonicCounter,
	}
	namer := otlptranslator.NewMetricNamer("", strategy)
	translated, err := namer.Build(otlptranslator.Metric{Name: name, Unit: unit, Type: types[kind]})
	if err != nil {
		return err.Error()
	}
	return translated
}

// labelOf returns an attribute's name in Prometheus.
func labelOf(name string) string {
	namer := otlptranslator.LabelNamer{}
	label, err := namer.Build(name)
	if err != nil {
		return err.Error()
	}
	return label
}
