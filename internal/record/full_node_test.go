// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// A new field of the vocabulary has to be added to fullNode, so that the other tests include it.
func TestFullNodeIsFull(t *testing.T) {
	seen, filled := map[string]bool{}, map[string]bool{}
	var look func(path string, v reflect.Value)
	look = func(path string, v reflect.Value) {
		seen[path] = true
		if !v.IsZero() {
			filled[path] = true
		}
		switch {
		case isReading(v) || v.Type() == reflect.TypeFor[time.Time]():
		case v.Kind() == reflect.Struct:
			for field, value := range fields(v) {
				look(strings.TrimPrefix(path+"."+field.Name, "."), value)
			}
		case v.Kind() == reflect.Pointer && !v.IsNil():
			look(path, v.Elem())
		case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
			for i := range v.Len() {
				look(path+"[]", v.Index(i))
			}
		}
	}
	look("", reflect.ValueOf(fullNode()).Elem())
	var empty []string
	for path := range seen {
		if !filled[path] {
			empty = append(empty, path)
		}
	}
	// The event of the node has only the fields of its type; events have their own tests. An error of a link has neither a code,
	// nor a block, nor a lifetime. The containers in Holders, and what they were given, are complete in Containers. Whether the process table was read for a
	// process is for attribution. A device that could not be read has no readings.
	// Dropped events are counted by the pipeline. CompleteIDs clears the location of a process. Busy time and whether holders are complete are for the records of use.
	empty = slices.DeleteFunc(empty, func(path string) bool {
		return strings.HasPrefix(path, "Processes[].Location") || path == "Processes[].Unread" || path == "EventsDropped" || path == "Devices[].Unread" || path == "Devices[].HoldersComplete" || path == "Containers[].BusyTime" || path == "Failure.Err" || strings.HasPrefix(path, "Events[].") || strings.HasPrefix(path, "Devices[].Interconnect.Links[].Errors[].") ||
			strings.HasPrefix(path, "Devices[].Holders[].Container.") || path == "Devices[].Holders[].Share" || path == "Devices[].Holders[].MemoryLimit"
	})
	assert.Empty(t, empty)
}

// isReading reports whether a value is an Opt or a Counter.
func isReading(v reflect.Value) bool {
	_, ok := v.Interface().(interface{ Known() bool })
	return ok
}

// readings calls visit for each Opt and Counter that a node has, with its path.
func readings(node *gpu.Node, visit func(path string, v reflect.Value)) {
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		switch {
		case isReading(v):
			if !v.IsZero() {
				visit(path, v)
			}
		case v.Kind() == reflect.Struct:
			for field, value := range fields(v) {
				if field.IsExported() {
					walk(strings.TrimPrefix(path+"."+field.Name, "."), value)
				}
			}
		case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
			for i := range v.Len() {
				walk(path+"["+strconv.Itoa(i)+"]", v.Index(i))
			}
		}
	}
	walk("", reflect.ValueOf(node).Elem())
}

// fields are the fields of a struct.
func fields(v reflect.Value) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		for i := range v.NumField() {
			if !yield(v.Type().Field(i), v.Field(i)) {
				return
			}
		}
	}
}
