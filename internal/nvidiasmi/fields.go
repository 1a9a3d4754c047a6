// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// maxRefusedFields is how many fields a version may refuse, one failing call each, before only those are asked for that
// every version has.
const maxRefusedFields = 4

// fields are the columns that are asked for by query: fast, for one version of the driver.
type fields struct {
	names   []string
	driver  string // empty until the first table was read
	refused int
	basic   bool
	useless bool // not even the basic ones were taken: read in full

	// untold is why the help listed nothing. The basic fields then stand in for those that it will list when it is asked again.
	untold error
	again  retry
}

// learn asks the tool for its fields where they are not known. That the help lists nothing, for want of the driver's library say,
// or was cut off, tells nothing of the version; that it does not know the switch does.
func (r *Reader) learn(ctx context.Context) (*failure, error) {
	known := r.fields.names != nil
	if known && (r.fields.untold == nil || !r.fields.again.due(r.node.Time)) {
		return nil, nil
	}
	results, err := r.runner.Run(ctx, queryHelp())
	if len(results) == 0 && !known {
		_, failed, err := none(err)
		return failed, err
	}
	if len(results) > 0 {
		help := &results[0]
		lines, whole := help.Lines()
		advertised := parse.Help(lines)
		d := parse.Diagnose(help.Stdout, help.Stderr, help.ExitCode)
		switch {
		case len(advertised) > 0 && !whole:
			err = errEndsEarly
		case len(advertised) == 0 && d.Failure != parse.FailureUsage:
			err = errors.New(firstOf(d.Message, "it lists no field"))
		default:
			r.fields = choose(r.want, advertised)
			return nil, nil
		}
	}
	if !known {
		r.fields = choose(r.want, nil)
	}
	r.fields.untold = err
	r.fields.again.later(r.node.Time)
	return nil, nil
}

// givenUp tells whether there is no field to ask for. Of fields that were guessed that holds until the help is asked again.
func (f *fields) givenUp(now time.Time) bool {
	return f.useless && (f.untold == nil || !f.again.due(now))
}

// guessed tells of a read by the basic fields that they were not chosen.
func (r *Reader) guessed() {
	if r.fields.untold != nil {
		r.problem(gpu.ProblemQuantity, "", "fields", fmt.Errorf("nvidia-smi --help-query-gpu: %w; it does not say what else can be read, so only the basic "+
			"fields are, and a GPU on which MIG is turned on is not noticed; it is asked again", r.fields.untold))
	}
}

// choose takes the wanted fields that the tool advertises, in the spelling that it advertises. Where it advertises none, the basic
// ones are left.
func choose(want gpu.Group, advertised map[string]bool) fields {
	f := fields{basic: len(advertised) == 0}
	for _, field := range parse.Fields() {
		if field.Groups != 0 && !want.Has(field.Groups) {
			continue
		}
		if f.basic {
			if field.Basic {
				f.names = append(f.names, field.Names[len(field.Names)-1])
			}
			continue
		}
		if i := slices.IndexFunc(field.Names, func(n string) bool { return advertised[n] }); i >= 0 {
			f.names = append(f.names, field.Names[i])
		}
	}
	return f
}

// refuse leaves out a field that the tool does not know after all. A name that was not asked for, or too many of them, leave
// the basic fields; those being refused leave nothing.
func (f *fields) refuse(name string, want gpu.Group) {
	i := slices.Index(f.names, name)
	f.refused++
	switch {
	case i >= 0 && f.refused <= maxRefusedFields:
		f.names = slices.Delete(f.names, i, i+1)
	case !f.basic:
		driver := f.driver
		*f = choose(want, nil)
		f.driver = driver
	default:
		f.useless = true
	}
}

// follow forgets the fields when the driver is of another version than the one they hold for: it is asked for its own at the
// next read.
func (f *fields) follow(driver string) {
	switch {
	case driver == "" || driver == f.driver:
	case f.driver == "":
		f.driver = driver
	default:
		*f = fields{driver: driver}
	}
}
