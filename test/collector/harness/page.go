// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package harness

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// Get fetches a page.
func Get(ctx context.Context, url string) (status int, body string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// Series is one line of a Prometheus endpoint.
type Series struct {
	Name   string
	Labels map[string]string
	Value  float64
}

// Key identifies the series. The exporter's scope labels are left out.
func (s *Series) Key() string {
	known := make(map[string]string, len(s.Labels))
	for name, value := range s.Labels {
		if !strings.HasPrefix(name, "otel_scope_") {
			known[name] = value
		}
	}
	return s.Name + text(known)
}

var (
	seriesLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$`)
	seriesPair = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
	unescape   = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n")
)

// ParsePage parses the text format of Prometheus, as far as the exporter uses it.
func ParsePage(page string) ([]Series, error) {
	var all []Series
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		parts := seriesLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("not a series: %s", line)
		}
		value, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		series := Series{Name: parts[1], Labels: map[string]string{}, Value: value}
		for _, pair := range seriesPair.FindAllStringSubmatch(parts[2], -1) {
			series.Labels[pair[1]] = unescape.Replace(pair[2])
		}
		all = append(all, series)
	}
	return all, nil
}

// unitSuffixes maps the units of the receiver's metrics to their suffixes in Prometheus names.
var unitSuffixes = map[string]string{
	"By": "bytes", "Cel": "celsius", "Hz": "hertz", "J": "joules", "s": "seconds", "W": "watts",
}

// InPrometheus returns the point as it should appear in Prometheus, optionally with the resource's attributes as labels.
func (p *Point) InPrometheus(withResource bool) Series {
	name := underscores(p.Metric)
	suffix := unitSuffixes[p.Unit]
	if p.Unit == "1" && p.Gauge {
		suffix = "ratio"
	}
	if suffix != "" && !strings.HasSuffix(name, "_"+suffix) {
		name += "_" + suffix
	}
	if p.Monotonic {
		name += "_total"
	}
	series := Series{Name: name, Labels: map[string]string{}, Value: p.Value}
	if withResource {
		for label, value := range p.Resource {
			series.Labels[underscores(label)] = value
		}
	}
	for label, value := range p.Attributes {
		series.Labels[underscores(label)] = value
	}
	return series
}

func underscores(name string) string { return strings.ReplaceAll(name, ".", "_") }
