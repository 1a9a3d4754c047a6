// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// checkKeys refuses keys that a configuration does not have. Where a struct is squashed that reads itself, as the HTTP server's does,
// the decoder passes over such keys; a misspelt auth would leave the server open. Keys of the sections below are left to the decoder.
func checkKeys(settings map[string]any, config any) error {
	known := map[string]struct{}{}
	collectKeys(reflect.TypeOf(config).Elem(), known)
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		if _, ok := known[key]; !ok {
			errs = append(errs, fmt.Errorf("%s: there is no such setting; allowed are %s", key, strings.Join(slices.Sorted(maps.Keys(known)), ", ")))
		}
	}
	return errors.Join(errs...)
}

// collectKeys adds the keys of a struct and of its squashed fields.
func collectKeys(t reflect.Type, keys map[string]struct{}) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		switch {
		case strings.Contains(options, "squash"):
			collectKeys(field.Type, keys)
		case field.IsExported() && name != "" && name != "-":
			keys[name] = struct{}{}
		}
	}
}
