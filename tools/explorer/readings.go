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
	{kubernetesExec, ""},
}

const (
	nvidia = "NVIDIA"
	amd    = "AMD"

	kubernetesExec = "kubernetes_exec" // runs a tool on other machines
)

// Sources that read no GPU.
const (
	clusterScraper = "kubernetes_cluster"
	attribution    = "attribution"
	kernelLog      = "kernel_log"
)

// reading is what docs/reference/metrics.md says on some metrics: a row of one of its tables.
type reading struct {
	what    template.HTML
	names   []string // of metrics, perhaps with a star at the end
	sources []sourceText
	missing template.HTML // when
}

type sourceText struct {
	Source    string
	Text      template.HTML
	available bool // whether the source has the metrics
}

// readReadings reads the tables with a column for each source, and those with one column that names the sources.
func readReadings(file string) ([]reading, error) {
	bySource, err := readTables(file, "metric", "nvml")
	if err != nil {
		return nil, err
	}
	named, err := readTables(file, "metric", "from")
	if err != nil {
		return nil, err
	}
	var found []reading
	for _, r := range slices.Concat(named, bySource) {
		one := reading{what: linked(r.first.html, "metrics.md"), names: namesIn(r.first.text), missing: linked(r.cells["missing when"].html, "metrics.md")}
		if from, ok := r.cells["from"]; ok {
			one.sources = sourcesOfCell(from)
		} else {
			one.sources = sourcesOfColumns(r)
		}
		found = append(found, one)
	}
	return found, nil
}

// sourcesOfCell returns the sources that a cell names.
func sourcesOfCell(from cell) []sourceText {
	text := linked(from.html, "metrics.md")
	if from.text == clusterScraper {
		text = ""
	}
	var found []sourceText
	for _, source := range sourcesIn(from.text) {
		found = append(found, sourceText{Source: source, Text: text, available: true})
	}
	return found
}

// sourcesOfColumns returns what the columns of the sources say. A table without a column for kubernetes_exec means that it has what the
// tools have.
func sourcesOfColumns(r row) []sourceText {
	var found []sourceText
	byTool := false
	for _, s := range scrapers {
		c, ok := r.cells[s.name]
		if !ok {
			continue
		}
		found = append(found, sourceText{Source: s.name, Text: linked(c.html, "metrics.md"), available: has(c.text)})
		byTool = byTool || strings.HasSuffix(s.name, "_smi") && has(c.text)
	}
	if _, ok := r.cells[kubernetesExec]; !ok && byTool {
		found = append(found, sourceText{Source: kubernetesExec, Text: "what the tool in the driver's pod prints", available: true})
	}
	return found
}

// has reports whether a cell says that the source has the metric, perhaps under conditions.
func has(text string) bool {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return word != "" && !slices.Contains([]string{"no", "no:"}, word)
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
