// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"html/template"
	"regexp"
	"strings"
)

// eventRow is what docs/reference/events.md says on some events.
type eventRow struct {
	first, from template.HTML
	sources     []string
}

// readEvents reads the table "All events".
func readEvents(file string) ([]eventRow, error) {
	rows, err := readTables(file, "event", "what happened", "from")
	if err != nil {
		return nil, err
	}
	var found []eventRow
	for _, r := range rows {
		from := r.cells["from"]
		found = append(found, eventRow{linked(r.first.html, "events.md"), linked(from.html, "events.md"), sourcesIn(from.text)})
	}
	return found, nil
}

// of reports whether the row is that of an event.
func (r *eventRow) of(name string) bool {
	return strings.Contains(string(r.first), "<code>"+name+"</code>")
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
