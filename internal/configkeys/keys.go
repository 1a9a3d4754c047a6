// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package configkeys checks the keys of a configuration, and the kinds of their values, before it is decoded.
package configkeys

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
)

// maxKeys is the number of allowed keys that an error lists. There are more metrics; the documentation lists them.
const maxKeys = 32

// Check refuses keys that a configuration does not have, keys that must not be empty, and values of another kind, each
// with its full path and what is allowed. The decoder that runs after it would refuse most of them too, but names only the
// last part of the key, takes 1.5 for 1, and passes over unknown keys of a squashed struct that decodes itself, such as the HTTP
// server's: a misspelt auth would leave the server open.
func Check(path string, settings map[string]any, config any) error {
	return checkSection(path, settings, reflect.TypeOf(config))
}

func checkSection(path string, settings map[string]any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	allowed := map[string]reflect.Type{}
	if optional, ok := reflect.PointerTo(t).MethodByName("GetOrInsertDefault"); ok { // a configoptional.Optional
		t = optional.Type.Out(0).Elem()
		allowed["enabled"] = reflect.TypeFor[bool]()
	}
	collectKeys(t, allowed)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		field, known := allowed[key]
		if !known {
			errs = append(errs, fmt.Errorf("%s%s: there is no such setting; %s", path, key, allowedKeys(key, allowed)))
			continue
		}
		value := settings[key]
		if value == nil {
			if mustNotBeEmpty(field.Kind()) {
				errs = append(errs, fmt.Errorf("%s%s: is empty; give a value, or leave it out for the default", path, key))
			}
			continue
		}
		errs = append(errs, checkValue(path+key, value, field))
	}
	return errors.Join(errs...)
}

// mustNotBeEmpty reports whether a setting of the kind needs a value. The decoder takes an empty one for 0 or false: a
// max_processes from a variable that is not set would send no processes.
func mustNotBeEmpty(kind reflect.Kind) bool { return kind >= reflect.Bool && kind <= reflect.Float64 }

// collectKeys adds the keys of a struct and of its squashed fields.
func collectKeys(t reflect.Type, keys map[string]reflect.Type) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case strings.Contains(options, "squash"):
			collectKeys(field.Type, keys)
		case field.IsExported() && name != "" && name != "-":
			keys[name] = field.Type
		}
	}
}

// allowedKeys lists the allowed keys; if there are too many, those that begin as the wrong key does for the longest.
func allowedKeys(wrong string, allowed map[string]reflect.Type) string {
	keys := slices.Sorted(maps.Keys(allowed))
	if len(keys) <= maxKeys {
		return "allowed are " + strings.Join(keys, ", ")
	}
	var similar []string
	for start := wrong; start != "" && len(similar) == 0; start = start[:len(start)-1] {
		similar = slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return !strings.HasPrefix(key, start) })
	}
	if len(similar) == 0 || len(similar) > maxKeys {
		return "documentation.md lists what there is"
	}
	return "similar are " + strings.Join(similar, ", ") + "; documentation.md lists what there is"
}

// checkValue refuses a value of another kind than its setting, and what is wrong in the sections below it. Texts are left to the decoder, which
// knows how a variable was written. So are numbers as durations, which it takes for nanoseconds.
func checkValue(path string, value any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	section, isSection := value.(map[string]any)
	list, isList := value.([]any)
	number := reflect.ValueOf(value)
	want := ""
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
		text, isText := value.(string)
		if _, err := time.ParseDuration(text); isText && err != nil || !isText && !number.CanInt() && !number.CanFloat() {
			want = "a duration with a unit (h, m, s or ms), such as 30s or 1h30m"
		}
	case t == reflect.TypeFor[component.ID]():
		if isSection || isList {
			want = "the ID of an extension"
		}
	case kind == reflect.Struct:
		if isSection {
			return checkSection(path+"::", section, t)
		}
		want = "a section of settings, or empty"
	case reflect.PointerTo(t).Implements(reflect.TypeFor[confmap.Unmarshaler]()): // a list that may also be a section
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		if isList {
			return checkList(path, list, t.Elem())
		}
		want = "a list"
	case kind == reflect.Slice:
		if _, text := value.(string); !isList && !text { // a text is divided at its commas
			want = "a list"
		}
	case kind == reflect.Bool:
		if number.Kind() != reflect.Bool {
			want = "true or false"
		}
	case kind >= reflect.Int && kind <= reflect.Uint64:
		if !number.CanInt() && (!number.CanFloat() || number.Float() != math.Trunc(number.Float()) || math.Abs(number.Float()) > math.MaxInt32) {
			want = "a whole number"
		}
	case kind == reflect.Float32 || kind == reflect.Float64:
		if !number.CanInt() && (!number.CanFloat() || math.IsNaN(number.Float()) || math.Abs(number.Float()) > math.MaxFloat32) {
			want = "a number"
		}
	}
	if want == "" {
		return nil
	}
	return fmt.Errorf("%s: must be %s, got %s", path, want, quoted(value))
}

// checkList is checkValue for a list of sections.
func checkList(path string, list []any, t reflect.Type) error {
	var errs []error
	for i, value := range list {
		key := fmt.Sprintf("%s::%d", path, i)
		switch section := value.(type) {
		case nil: // Check misses what must be there
		case map[string]any:
			errs = append(errs, checkSection(key+"::", section, t))
		default:
			errs = append(errs, fmt.Errorf("%s: must be a section of settings, got %s", key, quoted(value)))
		}
	}
	return errors.Join(errs...)
}

// quoted returns a value as errors show it.
func quoted(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "a section of settings"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("%q", v)
	default:
		return fmt.Sprint(v)
	}
}
