// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
)

// eventTables are what docs/reference/events.md says on all events.
type eventTables struct {
	all     []eventRow
	missing []missingRow
}

// eventRow is a row of the table "All events".
type eventRow struct {
	first, from template.HTML
	sources     []string
}

// missingRow is a row of the table "When an event is missing".
type missingRow struct{ events, when template.HTML }

func readEvents(file string) (*eventTables, error) {
	all, err := readTables(file, "event", "what happened", "from")
	if err != nil {
		return nil, err
	}
	missing, err := readTables(file, "event", "missing when")
	if err != nil {
		return nil, err
	}
	var found eventTables
	for _, r := range all {
		from := r.cells["from"]
		found.all = append(found.all, eventRow{linked(r.first.html, "events.md"), linked(from.html, "events.md"), sourcesIn(from.text)})
	}
	for _, r := range missing {
		found.missing = append(found.missing, missingRow{r.first.html, linked(r.cells["missing when"].html, "events.md")})
	}
	return &found, nil
}

// row returns the row of an event in "All events"; nil if there is none.
func (t *eventTables) row(name string) *eventRow {
	i := slices.IndexFunc(t.all, func(r eventRow) bool { return hasEvent(r.first, name) })
	if i < 0 {
		return nil
	}
	return &t.all[i]
}

// missingWhen returns when an event is missing; empty if no row says so.
func (t *eventTables) missingWhen(name string) template.HTML {
	i := slices.IndexFunc(t.missing, func(r missingRow) bool { return hasEvent(r.events, name) })
	if i < 0 {
		return ""
	}
	return t.missing[i].when
}

// hasEvent reports whether a cell has the name of an event.
func hasEvent(cell template.HTML, event string) bool {
	return strings.Contains(string(cell), "<code>"+event+"</code>")
}

// record returns the address of the page with the event's record: names of several events may be in one link.
func (r *eventRow) record(name string) string {
	for _, link := range regexp.MustCompile(`<a href="([^"]+)">(.*?)</a>`).FindAllStringSubmatch(string(r.first), -1) {
		if strings.Contains(link[2], "<code>"+name+"</code>") {
			return link[1]
		}
	}
	return ""
}

// sourcesIn returns the sources that a text names. "every scraper of this machine" leaves out kubernetes_exec.
func sourcesIn(text string) []string {
	var found []string
	for _, s := range scrapers {
		if s.name == kubernetesExec && strings.Contains(text, "of this machine") {
			continue
		}
		if strings.Contains(text, s.name) || strings.Contains(text, "every scraper") || s.vendor == amd && strings.Contains(text, "scrapers of AMD") {
			found = append(found, s.name)
		}
	}
	for _, name := range []string{clusterScraper, attribution, kernelLog} {
		if strings.Contains(text, name) || name == clusterScraper && text == "every scraper" {
			found = append(found, name)
		}
	}
	return found
}
