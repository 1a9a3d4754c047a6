// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/csv"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// wantsCSV reports whether a request prefers CSV.
func wantsCSV(r *route.Request) bool {
	return route.Accepted(r.Header.Values("Accept"), route.JSON, route.CSV) == route.CSV
}

func writeCSV[T any](w http.ResponseWriter, t *table[T], items []T) error {
	w.Header().Set("Content-Type", route.CSV+"; charset=utf-8; header=present")
	out := csv.NewWriter(w)
	row := make([]string, len(t.columns))
	for i, c := range t.columns {
		row[i] = c.name
	}
	_ = out.Write(row) // Flush ends if the client is gone
	for _, entry := range items {
		for i, c := range t.columns {
			row[i] = cell(c.value(entry))
		}
		if out.Write(row) != nil {
			break
		}
	}
	out.Flush()
	return nil
}

// cell returns a value as CSV has it, empty for what was not read.
func cell(value any) string {
	switch v := plain(value).(type) {
	case bool:
		return strconv.FormatBool(v)
	case int:
		return strconv.Itoa(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case string:
		return inert(v)
	case []string:
		return inert(strings.Join(v, ";"))
	}
	return ""
}

// inert returns a text that a spreadsheet does not take for a formula: processes and pods are named by anybody.
func inert(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// plain returns what a pointer points to, nil for a nil pointer. Types of text become string.
func plain(value any) any {
	v := reflect.ValueOf(value)
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return nil
		}
		v = v.Elem()
	}
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.String:
		return v.String()
	}
	return v.Interface()
}
