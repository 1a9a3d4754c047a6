// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// mostKeys is how many allowed keys an error lists; there are many more metrics, which the documentation lists.
const mostKeys = 12

// wrongKeys refuses keys that a configuration does not have, with the whole path of each and what is allowed there, those that
// may not be empty, and values of another kind. The decoder that runs after it would refuse most of it too, but names the key
// alone, and it takes 1.5 for 1. Keys in also are not the decoder's.
func wrongKeys(path string, settings map[string]any, config any, also ...string) error {
	return wrongIn(path, settings, reflect.TypeOf(config), also...)
}

func wrongIn(path string, settings map[string]any, t reflect.Type, also ...string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	allowed := map[string]reflect.Type{}
	collectKeys(t, allowed)
	for _, key := range also {
		allowed[key] = reflect.TypeFor[any]()
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		field, known := allowed[key]
		if !known {
			errs = append(errs, fmt.Errorf("%s%s: there is no such setting; %s", path, key, listed(allowed)))
			continue
		}
		value := settings[key]
		if value == nil {
			if neverEmpty(field.Kind()) {
				errs = append(errs, fmt.Errorf("%s%s: is empty; give a value, or leave it out for the default", path, key))
			}
			continue
		}
		errs = append(errs, wrongValue(path+key, value, field))
	}
	return errors.Join(errs...)
}

// neverEmpty tells whether a setting of the kind cannot be empty. The decoder would take it for 0 or false: a variable that is not
// set would send no processes.
func neverEmpty(kind reflect.Kind) bool { return kind >= reflect.Bool && kind <= reflect.Float64 }

// collectKeys adds the keys of a struct, those of squashed fields too.
func collectKeys(t reflect.Type, keys map[string]reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case strings.Contains(options, "squash"):
			collectKeys(field.Type, keys)
		case field.IsExported() && name != "" && name != "-":
			keys[name] = field.Type
		}
	}
}

func listed(allowed map[string]reflect.Type) string {
	if len(allowed) > mostKeys {
		return "documentation.md lists what there is"
	}
	return "allowed are " + strings.Join(slices.Sorted(maps.Keys(allowed)), ", ")
}
