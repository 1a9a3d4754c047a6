// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

// entry is one metric, event or attribute of the page. Sources, Vendors and Levels are what the filters choose by.
type entry struct {
	ID, Name, Kind, Description string
	Enabled                     bool
	Levels, Vendors, Sources    []string

	Unit, Instrument, Type string // of metrics; of attributes the type alone
	Prometheus             string // name of a metric, label of an attribute
	Query                  query  // of metrics
	Switch                 string // configuration that switches it on or off
	Readings               []readingRow
	Attributes             []attributeRow
	Enum                   []string
	OfResource             string        // description of the attribute of a resource with the same name
	From, Missing          template.HTML // of events: the source, and when the event is missing
	Record                 string        // address of an event's description
	UsedBy                 []*entry      // metrics and events that have the attribute
	OnMetrics, OnEvents    int           // how many these are
}

type readingRow struct {
	What    template.HTML
	Sources []sourceText
	Missing template.HTML
}

// ByText returns the sources of a row, those with the same text together.
func (r readingRow) ByText() []sameText {
	var found []sameText
	for _, s := range r.Sources {
		i := slices.IndexFunc(found, func(f sameText) bool { return f.Text == s.Text })
		if i < 0 {
			found = append(found, sameText{Text: s.Text})
			i = len(found) - 1
		}
		found[i].Sources = append(found[i].Sources, s.Source)
	}
	return found
}

type sameText struct {
	Sources []string
	Text    template.HTML
}

type attributeRow struct {
	ID, Name, Description string
	OfDevice              bool // names the device, as on all metrics of devices
}

// deviceAttributes are on all metrics of devices.
var deviceAttributes = []string{"hw.id", "hw.model", "hw.name", "hw.parent", "hw.vendor"}

// DeviceAttributes returns the attributes that name the device, if the entry has all of them.
func (e *entry) DeviceAttributes() []attributeRow {
	return slices.DeleteFunc(slices.Clone(e.Attributes), func(a attributeRow) bool { return !a.OfDevice })
}

const (
	kindMetric    = "metric"
	kindEvent     = "event"
	kindAttribute = "attribute"
)

// switchOf returns the configuration that switches something on, or off if it is on by default.
func switchOf(section, name string, enabled bool) string {
	return fmt.Sprintf("receivers:\n  gpu:\n    %s:\n      %s: {enabled: %t}", section, name, !enabled)
}

func attributeID(name string) string { return "attribute-" + name }

func (p *page) addMetric(name string, m *metric, readings []reading, ofPartitions bool) error {
	series, err := prometheusName(name, m)
	if err != nil {
		return fmt.Errorf("name of %s in Prometheus: %w", name, err)
	}
	q, err := queryOf(name, series, m)
	if err != nil {
		return err
	}
	e := &entry{
		ID: name, Name: name, Kind: kindMetric, Description: m.Description, Enabled: m.Enabled, Levels: levelsOf(name, m.Attributes, ofPartitions),
		Unit: m.Unit, Instrument: m.instrument(), Type: m.valueType(), Prometheus: series, Query: q, Switch: switchOf("metrics", name, m.Enabled),
	}
	if e.Readings = readingRows(name, readings); len(e.Readings) == 0 {
		return fmt.Errorf("docs/reference/metrics.md has no row for %s", name)
	}
	e.Sources = sourcesOf(e.Readings)
	e.Vendors = vendorsOf(e.Sources, e.Description)
	e.Attributes = p.attributeRows(m.Attributes)
	p.Metrics = append(p.Metrics, e)
	return nil
}

func (p *page) addTelemetry(name string, m *metric) {
	series := telemetryName(name)
	p.Metrics = append(p.Metrics, &entry{
		ID: series, Name: series, Kind: kindMetric, Description: m.Description, Enabled: m.Enabled, Levels: []string{levelCollector}, Vendors: []string{nvidia, amd},
		Unit: m.Unit, Instrument: m.instrument(), Type: m.valueType(), Prometheus: series, Query: ofTelemetry(name, series, m),
	})
}

func (p *page) addEvent(name string, of event, tables *eventTables) error {
	row, missing := tables.row(name), tables.missingWhen(name)
	if row == nil || missing == "" {
		return fmt.Errorf("docs/reference/events.md does not say where %s comes from, or when it is missing", name)
	}
	p.Events = append(p.Events, &entry{
		ID: "event-" + name, Name: name, Kind: kindEvent, Description: of.Description, Enabled: of.Enabled, Levels: levelsOf(name, of.Attributes, false),
		Sources: row.sources, Vendors: vendorsOf(row.sources, of.Description), Switch: switchOf("events", name, of.Enabled),
		From: row.from, Missing: missing, Record: row.record(name), Attributes: p.attributeRows(of.Attributes),
	})
	return nil
}

// addAttribute adds an attribute: of points and records, of resources, or of both.
func (p *page) addAttribute(name string) error {
	l, err := label(name)
	if err != nil {
		return fmt.Errorf("label of %s: %w", name, err)
	}
	own, onPoints := p.declared.Attributes[name]
	resource, onResource := p.declared.ResourceAttributes[name]
	e := &entry{ID: attributeID(name), Name: name, Kind: kindAttribute, Description: own.Description, Enabled: true, Type: own.Type, Enum: own.Enum, Prometheus: l}
	if onResource {
		e.Switch = switchOf("resource_attributes", name, resource.Enabled)
		e.OfResource = resource.Description
		e.Levels = levelsOf(name, nil, false)
		e.Vendors = []string{nvidia, amd}
	}
	if !onPoints {
		e.Description, e.Type, e.Enum, e.Enabled = resource.Description, resource.Type, resource.Enum, resource.Enabled
	}
	for _, user := range slices.Concat(p.Metrics, p.Events) {
		if slices.ContainsFunc(user.Attributes, func(a attributeRow) bool { return a.Name == name }) {
			e.UsedBy = append(e.UsedBy, user)
			e.Levels = slices.Concat(e.Levels, user.Levels)
			e.Vendors = slices.Concat(e.Vendors, user.Vendors)
			e.Sources = slices.Concat(e.Sources, user.Sources)
			if user.Kind == kindMetric {
				e.OnMetrics++
			} else {
				e.OnEvents++
			}
		}
	}
	e.Levels, e.Vendors, e.Sources = unique(e.Levels), unique(e.Vendors), unique(e.Sources)
	p.Attributes = append(p.Attributes, e)
	return nil
}

func (p *page) attributeRows(names []string) []attributeRow {
	ofDevice := !slices.ContainsFunc(deviceAttributes, func(name string) bool { return !slices.Contains(names, name) })
	var rows []attributeRow
	for _, name := range names {
		rows = append(rows, attributeRow{attributeID(name), name, p.declared.Attributes[name].Description, ofDevice && slices.Contains(deviceAttributes, name)})
	}
	return rows
}

// readingRows returns what the tables say on a metric.
func readingRows(metric string, readings []reading) []readingRow {
	var rows []readingRow
	for _, r := range readings {
		if r.of(metric) {
			rows = append(rows, readingRow{r.what, r.sources, r.missing})
		}
	}
	return rows
}

// sourcesOf returns the sources that have something of the readings.
func sourcesOf(readings []readingRow) []string {
	var found []string
	for _, r := range readings {
		for _, s := range r.Sources {
			if s.available {
				found = append(found, s.Source)
			}
		}
	}
	return unique(found)
}

// vendorsOf returns the vendors of the sources. Where none is one vendor's, the description decides, and otherwise it is both.
func vendorsOf(sources []string, description string) []string {
	var found []string
	for _, s := range scrapers {
		if s.vendor != "" && slices.Contains(sources, s.name) {
			found = append(found, s.vendor)
		}
	}
	if len(found) > 0 {
		return unique(found)
	}
	ofNVIDIA, ofAMD := strings.Contains(description, nvidia), strings.Contains(description, amd)
	switch {
	case ofNVIDIA && !ofAMD:
		return []string{nvidia}
	case ofAMD && !ofNVIDIA:
		return []string{amd}
	default:
		return []string{nvidia, amd}
	}
}

func unique(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// namesOf returns the names of what is declared, in order.
func namesOf[T any](of map[string]T) []string { return slices.Sorted(maps.Keys(of)) }
