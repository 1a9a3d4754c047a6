// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
)

// Setting is a key of a configuration.
type Setting struct{ Key, Type, Default string }

// Settings returns the keys of a configuration, which is a pointer to a struct with its defaults. It includes sections that are off, and
// one element of each list of sections. If stop returns true for a key or for the type of a squashed struct, the keys below it are left
// out.
func Settings(prefix string, config any, stop func(key string, t reflect.Type) bool) []Setting {
	return settings(prefix, reflect.ValueOf(config).Elem(), stop)
}

func settings(prefix string, config reflect.Value, stop func(string, reflect.Type) bool) []Setting {
	var all []Setting
	for field, value := range config.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
		key := strings.TrimPrefix(prefix+"::"+name, "::")
		switch {
		case strings.Contains(options, "squash"):
			if !stop(prefix, field.Type) {
				all = append(all, settings(prefix, value, stop)...)
			}
			continue
		case !field.IsExported() || name == "" || name == "-":
			continue
		}
		below, isSection := section(value)
		if value.Kind() != reflect.Struct || isOptional(value) {
			all = append(all, Setting{key, typeOf(value), defaultOf(value)})
		}
		switch {
		case stop(key, field.Type):
			if value.Kind() == reflect.Struct && !isOptional(value) {
				all = append(all, Setting{key, "section", "none"})
			}
		case isSection:
			all = append(all, settings(key, below, stop)...)
		case value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Struct:
			all = append(all, settings(key+"::N", reflect.New(value.Type().Elem()).Elem(), stop)...)
		}
	}
	return all
}

// section returns the struct in which the keys below a key are.
func section(value reflect.Value) (reflect.Value, bool) {
	switch {
	case value.Type() == reflect.TypeFor[*component.ID]():
		return value, false
	case value.Kind() == reflect.Pointer && value.Type().Elem().Kind() == reflect.Struct:
		if value.IsNil() {
			return reflect.New(value.Type().Elem()).Elem(), true
		}
		return value.Elem(), true
	case isOptional(value):
		inserted := reflect.New(value.Type())
		inserted.Elem().Set(value)
		return inserted.MethodByName("GetOrInsertDefault").Call(nil)[0].Elem(), true
	}
	return value, value.Kind() == reflect.Struct
}

// isOptional reports whether a value is a configoptional.Optional.
func isOptional(value reflect.Value) bool { return strings.HasPrefix(value.Type().Name(), "Optional[") }

func typeOf(value reflect.Value) string {
	switch t := value.Type(); {
	case t == reflect.TypeFor[time.Duration]():
		return "duration"
	case t == reflect.TypeFor[*component.ID]():
		return "ID of an extension"
	case t.Kind() == reflect.Pointer || isOptional(value):
		return "section"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return "list of sections"
	case t.Kind() == reflect.Slice:
		return "list of strings"
	case value.CanInt():
		return "integer"
	case value.CanFloat():
		return "number"
	}
	return value.Kind().String()
}

// defaultOf returns a default as the pages write it.
func defaultOf(value reflect.Value) string {
	switch duration, isDuration := value.Interface().(time.Duration); {
	case isDuration:
		text := strings.TrimSuffix(duration.String(), "m0s")
		if text != duration.String() {
			text += "m"
		}
		if hours, whole := strings.CutSuffix(text, "h0m"); whole {
			text = hours + "h"
		}
		return text
	case value.Kind() == reflect.Pointer || isOptional(value):
		return "off"
	case value.Kind() == reflect.String && value.Len() == 0:
		return "empty"
	case value.Kind() == reflect.Slice && value.Len() == 0:
		return "none"
	case value.Kind() == reflect.Slice:
		return strings.ReplaceAll(fmt.Sprint(value.Interface()), " ", ", ")
	}
	return fmt.Sprint(value.Interface())
}
