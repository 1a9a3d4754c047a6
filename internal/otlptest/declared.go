// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"maps"
	"os"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"sigs.k8s.io/yaml"
)

// Declared is what metadata.yaml declares.
type Declared struct {
	Attributes         map[string]attribute     `json:"attributes"`
	ResourceAttributes map[string]attribute     `json:"resource_attributes"`
	Metrics            map[string]metric        `json:"metrics"`
	Events             map[string]withAttribute `json:"events"`
}

type attribute struct {
	Description string    `json:"description"`
	Type        string    `json:"type"`
	Enum        []string  `json:"enum"`
	Required    string    `json:"requirement_level"`
	Convention  *struct{} `json:"semantic_convention"`
}

type withAttribute struct {
	Attributes []string `json:"attributes"`
}

type metric struct {
	withAttribute
	Enabled    bool      `json:"enabled"`
	Unit       string    `json:"unit"`
	Gauge      *values   `json:"gauge"`
	Sum        *values   `json:"sum"`
	Convention *struct{} `json:"semantic_convention"`
}

type values struct {
	Type      string `json:"value_type"`
	Monotonic bool   `json:"monotonic"`
}

// ReadDeclared reads a metadata.yaml.
func ReadDeclared(file string) (*Declared, error) {
	content, err := os.ReadFile(file) //nolint:gosec // of a test
	if err != nil {
		return nil, err
	}
	var d Declared
	return &d, yaml.Unmarshal(content, &d)
}

func (m *metric) kind() string {
	switch {
	case m.Gauge != nil:
		return "gauge"
	case m.Sum != nil && m.Sum.Monotonic:
		return "counter"
	default:
		return "updowncounter"
	}
}

// valueType returns int or double.
func (m *metric) valueType() string {
	switch {
	case m.Gauge != nil:
		return m.Gauge.Type
	case m.Sum != nil:
		return m.Sum.Type
	default:
		return ""
	}
}

// Violations returns what is sent but not declared, and what is required but not sent.
func (d *Declared) Violations(metrics pmetric.Metrics) []string {
	var result violations
	for _, rm := range metrics.ResourceMetrics().All() {
		for name, value := range rm.Resource().Attributes().All() {
			if configured(name) {
				continue
			}
			d.ResourceAttributes[name].check(&result, "resource: "+name, value)
		}
	}
	for _, p := range Points(metrics) {
		m, ok := d.Metrics[p.Metric]
		if !ok {
			result.add("%s is not declared", p.Metric)
			continue
		}
		if m.Unit != p.Unit || m.kind() != p.Kind {
			result.add("%s is a %s of %s, declared as a %s of %s", p.Metric, p.Kind, p.Unit, m.kind(), m.Unit)
		}
		if m.valueType() != p.Type {
			result.add("%s is of %s, declared as %s", p.Metric, p.Type, m.valueType())
		}
		d.attributes(&result, p.Series(), m.Attributes, p.Attributes)
	}
	return result
}

// EventViolations does the same for the attributes of an event.
func (d *Declared) EventViolations(name string, attributes pcommon.Map) []string {
	var result violations
	e, ok := d.Events[name]
	if !ok {
		result.add("event %s is not declared", name)
	}
	raw := attributes.AsRaw()
	maps.DeleteFunc(raw, func(name string, _ any) bool { return configured(name) })
	d.attributes(&result, name, e.Attributes, raw, optional[name]...)
	return result
}

// configured reports whether an attribute is a label or an annotation that the configuration names.
func configured(name string) bool {
	return strings.Contains(name, ".label.") || strings.Contains(name, ".annotation.")
}

// optional are attributes of events that need not be there, although points always have them.
var optional = map[string][]string{
	"hw.gpu.ring_timeout": {"process.pid"},                                                       // as of hw.gpu.xid
	"hw.gpu.status":       {"hw.gpu.recovery.action"},                                            // if the driver requests no action
	"hw.gpu.switch_error": {"hw.gpu.interconnect.link"},                                          // if the kernel names no link
	"hw.gpu.xid":          {"process.pid", "hw.gpu.interconnect.link", "hw.gpu.recovery.action"}, // if the driver does not name them
}

func (d *Declared) attributes(result *violations, subject string, declared []string, raw map[string]any, optional ...string) {
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(declared, name) {
			result.add("%s: %s is not declared", subject, name)
			continue
		}
		value := pcommon.NewValueEmpty()
		_ = value.FromRaw(raw[name])
		d.Attributes[name].check(result, subject+": "+name, value)
	}
	for _, name := range declared {
		if _, ok := raw[name]; !ok && d.Attributes[name].Required == "required" && !slices.Contains(optional, name) {
			result.add("%s: %s is required", subject, name)
		}
	}
}

// check checks that a value has the declared type and that a text is not empty.
func (a attribute) check(result *violations, subject string, value pcommon.Value) {
	switch {
	case a.Type == "string" && value.Type() == pcommon.ValueTypeStr && value.Str() != "":
		if len(a.Enum) > 0 && !slices.Contains(a.Enum, value.Str()) {
			result.add("%s is not one of %v", subject, a.Enum)
		}
	case a.Type == "bool" && value.Type() == pcommon.ValueTypeBool:
	case a.Type == "int" && value.Type() == pcommon.ValueTypeInt, a.Type == "double" && value.Type() == pcommon.ValueTypeDouble,
		a.Type == "slice" && value.Type() == pcommon.ValueTypeSlice:
	default:
		result.add("%s is %q, declared as %q", subject, value.AsString(), a.Type)
	}
}
