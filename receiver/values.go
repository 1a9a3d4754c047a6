// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"
)

// wrongValue refuses a value that is of another kind than its setting, and what is wrong in the sections below it. Texts and
// durations are left to the decoder, which knows how a variable was written.
func wrongValue(path string, value any, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	section, isSection := value.(map[string]any)
	list, isList := value.([]any)
	number := reflect.ValueOf(value)
	want := ""
	switch kind := t.Kind(); {
	case t == reflect.TypeFor[time.Duration]():
	case kind == reflect.Struct:
		if isSection {
			return wrongIn(path+"::", section, t)
		}
		want = "a section of settings, or empty"
	case kind == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		if isList {
			return wrongSections(path, list, t.Elem())
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
	return fmt.Errorf("%s: must be %s, got %s", path, want, named(value))
}

// wrongSections is wrongValue of a list of sections.
func wrongSections(path string, list []any, t reflect.Type) error {
	var errs []error
	for i, value := range list {
		at := fmt.Sprintf("%s::%d", path, i)
		switch section := value.(type) {
		case nil: // what must stand there is missed later
		case map[string]any:
			errs = append(errs, wrongIn(at+"::", section, t))
		default:
			errs = append(errs, fmt.Errorf("%s: must be a section of settings, got %s", at, named(value)))
		}
	}
	return errors.Join(errs...)
}

// named is a value for an error.
func named(value any) string {
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
