// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otelgpu/gpureceiver/internal/backoff"
	"github.com/otelgpu/gpureceiver/internal/command"
	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// maxRefusedFields is how many fields a version may refuse, at one failing call each. After that only the basic fields are
// queried, which every version has.
const maxRefusedFields = 4

// fields are the columns of the fast query, for one version of the driver.
type fields struct {
	names   []string
	driver  string // empty until the first table was read
	refused int
	basic   bool // names are the basic fields
	useless bool // the version refuses even the basic fields: read in full

	// helpErr is why the help listed no field. The basic fields then replace the fields that it will list.
	helpErr error
	retry   backoff.Backoff
}

// learn queries the fields of the installed version if they are unknown. A help text that lists nothing, for example because the driver's
// library is missing, or that was cut off, says nothing about the version. A version that does not have the switch has the basic fields.
func (f *fields) learn(ctx context.Context, runner command.Runner, want gpu.Group, now time.Time) error {
	known := f.names != nil
	if known && (f.helpErr == nil || !f.retry.Due(now)) {
		return nil
	}
	results, err := runner.Run(ctx, queryHelp())
	if len(results) == 0 {
		err = cmp.Or(err, errNoResult)
		if !known {
			return runError(err)
		}
	} else {
		help := &results[0]
		lines, whole := help.Lines()
		advertised := parse.Help(lines)
		d := diagnose(help)
		switch {
		case len(advertised) > 0 && !whole:
			err = errEndsEarly
		case len(advertised) == 0 && d.Failure != parse.FailureUsage:
			err = errors.New(cmp.Or(d.Message, "it lists no field"))
		default:
			*f = chooseFields(want, advertised)
			return nil
		}
	}
	if !known {
		*f = chooseFields(want, nil)
	}
	f.helpErr = err
	f.retry.Failed(now, retryPolicy)
	return nil
}

// exhausted reports whether there is no field to query. If the help listed nothing, this lasts until it is queried again.
func (f *fields) exhausted(now time.Time) bool {
	return f.useless && (f.helpErr == nil || !f.retry.Due(now))
}

// report adds the problem that only the basic fields are read because the help lists nothing.
func (f *fields) report(out *output) {
	if f.helpErr != nil {
		out.problem(gpu.ProblemQuantity, "", "fields", fmt.Errorf("nvidia-smi --help-query-gpu: %w; until it lists the fields of the installed version, "+
			"only the basic fields are read, and the collector does not notice MIG that is enabled on a GPU", f.helpErr))
	}
}

// refuse removes a field that the tool does not have although it advertises it. A name that was not queried, or too many
// refused fields, leave the basic fields. If those are refused, none is left.
func (f *fields) refuse(name string, want gpu.Group) {
	i := slices.Index(f.names, name)
	f.refused++
	switch {
	case i >= 0 && f.refused <= maxRefusedFields:
		f.names = slices.Delete(f.names, i, i+1)
	case !f.basic:
		driver := f.driver
		*f = chooseFields(want, nil)
		f.driver = driver
	default:
		f.useless = true
	}
}

// follow forgets the fields when the driver has another version than the one they hold for. The next read then queries the
// fields of that version.
func (f *fields) follow(driver string) {
	switch {
	case driver == "" || driver == f.driver:
	case f.driver == "":
		f.driver = driver
	default:
		*f = fields{driver: driver}
	}
}

// chooseFields returns the wanted fields that the tool advertises, in the advertised spelling. If it advertises no field it returns the
// basic fields.
func chooseFields(want gpu.Group, advertised map[string]bool) fields {
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
