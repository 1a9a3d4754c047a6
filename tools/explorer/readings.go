// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"html/template"
	"regexp"
	"slices"
	"strings"
)

// scraper is a source of GPUs, by its key below scrapers.
type scraper struct{ name, vendor string }

// scrapers are in the order of the tables of docs/reference/metrics.md.
var scrapers = []scraper{
	{"nvml", nvidia},
	{"nvidia_smi", nvidia},
	{"amdgpu", amd},
	{"amd_smi", amd},
	{"rocm_smi", amd},
	{"kubernetes_exec", ""},
}

const (
	nvidia = "NVIDIA"
	amd    = "AMD"
)

// Sources that read no GPU.
const (
	clusterScraper = "kubernetes_cluster"
	attribution    = "attribution"
	kernelLog      = "kernel_log"
)

// reading is what docs/reference/metrics.md says on some metrics: a row of its first table, or of the table "What the hardware reports".
type reading struct {
	what    template.HTML
	names   []string // of metrics, perhaps with a star at the end
	sources []sourceText
	missing template.HTML // when
	denied  []string      // sources that have none of the metrics at all
}

type sourceText struct {
	Source             string
	Text               template.HTML
	available, deduced bool // whether the source has the metrics; whether the row only implies it
}

func readReadings(file string) ([]reading, error) {
	needs, err := readTable(file, "metric", "nvml")
	if err != nil {
		return nil, err
	}
	reports, err := readTable(file, "quantity", "nvml", "nvidia_smi", "amdgpu", "amd_smi")
	if err != nil {
		return nil, err
	}
	var found []reading
	for _, r := range slices.Concat(needs, reports) {
		one := reading{what: linked(r.first.html, "metrics.md"), names: namesIn(r.first.text), missing: linked(r.cells["missing when"].html, "metrics.md")}
		for _, s := range scrapers {
			c, ok := r.cells[s.name]
			if !ok || elsewhere(c.text) {
				continue
			}
			one.sources = append(one.sources, sourceText{Source: s.name, Text: linked(c.html, "metrics.md"), available: has(c.text)})
			if !has(c.text) && namesAlone(r.first.text) {
				one.denied = append(one.denied, s.name)
			}
		}
		one.deduce(r)
		found = append(found, one)
	}
	return found, nil
}

// deduce adds the sources that the first table has no columns for.
func (r *reading) deduce(from row) {
	if from.cells["nvml"].text == clusterScraper {
		r.sources = []sourceText{{Source: clusterScraper, Text: "all", available: true}}
		return
	}
	if _, ok := from.cells["amd_smi"]; ok {
		return
	}
	ofNVIDIA, ofAMD := has(from.cells["nvidia_smi"].text), has(from.cells["amdgpu"].text)
	add := func(source string, text template.HTML) {
		r.sources = append(r.sources, sourceText{Source: source, Text: text, available: true, deduced: true})
	}
	if ofAMD {
		add("amd_smi", "what the version of the tool prints")
		add("rocm_smi", "what the version of the tool prints")
	}
	switch {
	case strings.HasPrefix(from.cells["nvml"].text, attribution):
		add(attribution, "")
	case ofNVIDIA || ofAMD:
		add("kubernetes_exec", "what the tool in the driver's pod prints")
	}
}

// elsewhere reports whether a cell is empty or refers to the other table.
func elsewhere(text string) bool {
	return slices.Contains([]string{"", "-", "–", "see below", "see what is new"}, strings.TrimSpace(text))
}

// has reports whether a cell says that the source has the metric, perhaps under conditions.
func has(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return !elsewhere(text) && !slices.Contains([]string{"no", "no:", "no,", "no;"}, word)
}

// wordWithDots is a name of a metric, or its end.
var wordWithDots = regexp.MustCompile(`[a-z0-9_]*\.[a-z0-9_.]*[a-z0-9_*]`)

// namesIn returns the names in a cell: "hw.gpu.memory.usage, .limit" are two, "hw.gpu.pcie.*" is all that begin so.
func namesIn(text string) []string {
	var names []string
	for _, word := range wordWithDots.FindAllString(text, -1) {
		if strings.HasPrefix(word, ".") && len(names) > 0 {
			parts := strings.Split(names[len(names)-1], ".")
			word = strings.Join(parts[:len(parts)-strings.Count(word, ".")], ".") + word
		}
		names = append(names, word)
	}
	return names
}

// namesAlone reports whether a cell has names and no word that restricts them to a part, such as a vendor.
func namesAlone(text string) bool {
	return strings.Trim(wordWithDots.ReplaceAllString(text, ""), " ,;") == ""
}

// of reports whether a metric is one of the reading's.
func (r *reading) of(metric string) bool {
	return slices.ContainsFunc(r.names, func(name string) bool {
		prefix, star := strings.CutSuffix(name, "*")
		return name == metric || star && strings.HasPrefix(metric, prefix)
	})
}

// linked makes links within a page of docs lead to that page.
func linked(html template.HTML, page string) template.HTML {
	return template.HTML(strings.ReplaceAll(string(html), `href="#`, `href="`+page+`#`)) //nolint:gosec // goldmark has escaped it
}
