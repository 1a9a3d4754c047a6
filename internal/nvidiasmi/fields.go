// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"slices"

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
}

// choose takes the wanted fields that the tool advertises, in the spelling that it advertises. Without a help text the basic
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
