// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/collector/confmap"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// Options are what is examined.
type Options struct {
	// Config are the collector's configurations, as its own --config takes them; none: the scrapers that run by default.
	Config []string
	// Compare compares the values of this machine's sources with the values of the vendors' tools.
	Compare bool
	// Tool is the path of the tool to compare with; empty: that in the usual places, or in PATH.
	Tool string
}

// Examine diagnoses what can be read. If the time of ctx is over, the report says so and has what was found by then. An error means that
// the configuration cannot be read at all, or that ctx was cancelled.
func Examine(ctx context.Context, options Options) (*Report, error) {
	all := defaults()
	conf := confmap.New()
	if len(options.Config) > 0 {
		var err error
		if conf, err = resolve(ctx, options.Config); err != nil {
			return nil, err
		}
		if all, err = receivers(conf); err != nil {
			return nil, err
		}
	}
	report := &Report{Version: version(), Time: time.Now().UTC().Truncate(time.Second)}
	for i := range all {
		sections, comparisons := examine(ctx, &all[i], &options)
		report.Sections = append(report.Sections, sections...)
		report.Comparisons = append(report.Comparisons, comparisons...)
	}
	report.Sections = append(append(report.Sections, machine()), readExporters(ctx, conf)...)
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		late := Section{Name: "time"}
		late.add(Failed, "timeout", "the time limit was reached before everything was read, which may be why checks above failed; raise it with --timeout")
		report.Sections = append(report.Sections, late)
	case err != nil:
		return nil, err
	}
	report.close()
	return report, nil
}

// examine returns what one receiver can read.
func examine(ctx context.Context, c *configured, options *Options) ([]Section, []Comparison) {
	start := Section{Name: c.id.String()}
	if c.err != nil {
		start.add(Failed, "configuration", c.err.Error())
		return []Section{start}, nil
	}
	e, err := gpureceiver.NewExamination(ctx, c.config, c.id, c.signals, options.Compare)
	if err != nil {
		start.add(Failed, "start", err.Error())
		return []Section{start}, nil
	}
	defer func() { _ = e.Close() }()
	if err := e.Started(); err != nil {
		start.add(Failed, "start", err.Error())
	}
	var sections []Section
	if len(start.Checks) > 0 {
		sections = append(sections, start)
	}
	receiver := c.id.String()
	sections = slices.Concat(sections, readLocal(ctx, receiver, e), readNode(ctx, receiver, e), readClusters(ctx, receiver, e))
	if !options.Compare {
		return sections, nil
	}
	compared, comparisons := compareLocal(ctx, receiver, options.Tool, e)
	return append(sections, compared...), comparisons
}

// version is the version of the module that this program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return info.Main.Version
}
