// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// maxSize is how large the page may be.
const maxSize = 600_000

// page is what page.html shows.
type page struct {
	Metrics, Events, Attributes []*entry
	Levels, Vendors, Sources    []string // that can be chosen
	Style                       template.CSS
	Script                      template.JS
	Policy                      string // Content-Security-Policy

	declared *declared
}

func newPage(d *declared, readings []reading, events *eventTables, partitions map[string]bool) (*page, error) {
	p := &page{
		Levels: levels, Vendors: []string{nvidia, amd}, declared: d,
		Style: template.CSS(pageCSS), Script: template.JS(pageJS), //nolint:gosec // files of this folder
		Policy: "default-src 'none'; img-src data:; style-src '" + hash(pageCSS) + "'; script-src '" + hash(pageJS) + "'; base-uri 'none'; form-action 'none'",
	}
	for _, s := range scrapers {
		p.Sources = append(p.Sources, s.name)
	}
	p.Sources = append(p.Sources, clusterScraper, attribution, kernelLog)
	var failed error
	for _, name := range namesOf(d.Metrics) {
		m := d.Metrics[name]
		failed = errors.Join(failed, p.addMetric(name, &m, readings, partitions[name]))
	}
	for _, name := range namesOf(d.Telemetry.Metrics) {
		m := d.Telemetry.Metrics[name]
		p.addTelemetry(name, &m)
	}
	for _, name := range namesOf(d.Events) {
		failed = errors.Join(failed, p.addEvent(name, d.Events[name], events))
	}
	attributes := maps.Clone(d.Attributes)
	maps.Copy(attributes, d.ResourceAttributes)
	for _, name := range namesOf(attributes) {
		failed = errors.Join(failed, p.addAttribute(name))
	}
	return p, failed
}

// hash is what the policy knows a script or a style by.
func hash(content string) string {
	sum := sha256.Sum256([]byte(content))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// render returns the page. It fails if the page would be too large to be opened at once.
func (p *page) render() ([]byte, error) {
	parsed, err := template.New("page").Funcs(template.FuncMap{"words": func(names []string) string { return strings.Join(names, "|") }}).Parse(pageHTML)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, p); err != nil {
		return nil, err
	}
	if out.Len() > maxSize {
		return nil, fmt.Errorf("the page has %d bytes, more than %d", out.Len(), maxSize)
	}
	return slices.Clip(out.Bytes()), nil
}
