// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
)

// record is what one command of amd-smi prints about one device. A section is an object, or "N/A".
type record map[string]any

// lookup returns the value under a path of keys; nil if a section is missing or "N/A".
func (r record) lookup(path ...string) any {
	var v any = map[string]any(r)
	for _, key := range path {
		section, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = section[key]
	}
	return v
}

// section returns a section as a record; nil, which is an empty record, if it is missing or "N/A".
func (r record) section(path ...string) record {
	section, _ := r.lookup(path...).(map[string]any)
	return section
}

// first returns the value of the first of several keys that has one.
func (r record) first(keys ...string) any {
	for _, key := range keys {
		switch v := r[key].(type) {
		case nil:
		case string:
			if smitext.Meaningful(v) {
				return v
			}
		case map[string]any:
			if text, isText := v["value"].(string); !isText || smitext.Meaningful(text) {
				return v
			}
		default:
			return v
		}
	}
	return nil
}

// text returns the text of the first of several keys that has one; numbers as they are written.
func (r record) text(keys ...string) string {
	for _, key := range keys {
		switch v := r[key].(type) {
		case string:
			if smitext.Meaningful(v) {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// hasValue reports whether something that the tool prints has a value anywhere in it.
func hasValue(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return smitext.Meaningful(v)
	case map[string]any:
		for _, inner := range v {
			if hasValue(inner) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, hasValue)
	}
	return true
}

// integer returns a number such as the index of a device.
func (r record) integer(key string) (int, bool) {
	n, _, ok := smitext.NumberOf(r[key])
	i := int(n)
	return i, ok && float64(i) == n && i >= 0
}

// envelopes are the keys under which later versions put the list of devices; until 6.3 the list was the whole output.
var envelopes = map[string]bool{"gpu_data": true, "xgmi_metric": true, "link_status": true}

// toolError is an error that amd-smi prints instead of an answer: {"error": "Parameter '-e' is invalid. …", "code": -2}.
type toolError struct{ message string }

// Error implements error.
func (e *toolError) Error() string { return e.message }

// parseRecords reads the output of amd-smi … --json: a list of records, an object that contains a list, or a single record. It ignores
// warnings before the JSON and anything after it. If the output ends in the middle, it returns the records before that with
// smitext.ErrTruncated.
func parseRecords(out []byte) ([]record, error) {
	start := documentStart(out)
	if start < 0 {
		return nil, smitext.NotJSON(out)
	}
	document := out[start:]
	if err := smitext.CheckSize(document); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var (
		list []record
		err  error
	)
	if document[0] == '[' {
		list, err = decodeRecords(decoder, nil)
	} else {
		list, err = decodeEnvelope(decoder, document)
	}
	var refused *toolError
	switch {
	case err == nil, errors.As(err, &refused):
		return list, err
	default:
		return list, fmt.Errorf("%w: %w", smitext.ErrTruncated, err)
	}
}

// documentStart returns the index of the bracket at the start of the JSON; -1 if there is none. Warnings contain brackets, too, so what
// follows the bracket must be possible in JSON.
func documentStart(out []byte) int {
	for i := range out {
		if out[i] != '{' && out[i] != '[' {
			continue
		}
		next := bytes.TrimLeft(out[i+1:], " \t\r\n")
		if len(next) == 0 {
			continue
		}
		switch c := next[0]; {
		case out[i] == '{' && (c == '"' || c == '}'), out[i] == '[' && (c == '{' || c == '[' || c == ']'):
			return i
		}
	}
	return -1
}

// maxNesting bounds lists within lists. xgmi prints two levels.
const maxNesting = 4

// decodeRecords decodes a list of records or of such lists.
func decodeRecords(decoder *json.Decoder, list []record) ([]record, error) {
	if err := smitext.Expect(decoder, '['); err != nil {
		return list, err
	}
	for decoder.More() {
		var element any
		if err := decoder.Decode(&element); err != nil {
			return list, smitext.EndOfInput(err)
		}
		list = appendRecords(list, element, 0)
	}
	return list, smitext.Expect(decoder, ']')
}

func appendRecords(list []record, element any, depth int) []record {
	switch e := element.(type) {
	case map[string]any:
		if len(list) < smidevice.MaxDevices {
			list = append(list, e)
		}
	case []any:
		if depth < maxNesting {
			for _, inner := range e {
				list = appendRecords(list, inner, depth+1)
			}
		}
	}
	return list
}

// decodeEnvelope decodes an object that contains the list, or is an error or a single record.
func decodeEnvelope(decoder *json.Decoder, document []byte) ([]record, error) {
	var list []record
	single := make(record)
	err := smitext.DecodeMembers(decoder, func(key string) error {
		value := bytes.TrimLeft(document[decoder.InputOffset():], ": \t\r\n")
		if envelopes[key] && len(value) > 0 && value[0] == '[' {
			var err error
			list, err = decodeRecords(decoder, list)
			return err
		}
		var v any
		if err := decoder.Decode(&v); err != nil {
			return err
		}
		if !envelopes[key] {
			single[key] = v
		}
		return nil
	})
	if message, ok := single["error"].(string); ok {
		return nil, &toolError{message: smitext.Bounded(strings.TrimSpace(message))}
	}
	if err == nil && list == nil && len(single) > 0 {
		list = []record{single}
	}
	return list, err
}
