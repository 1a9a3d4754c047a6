// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// rocmOutput is what rocm-smi printed: the lines of its text output, by card, as keys and values.
type rocmOutput struct {
	cards  []rocmCard
	system map[string]string
	// lowPower: a card is asleep, and its temperatures, power and clocks are missing.
	lowPower bool

	exitCode int
	err      error // why there are no cards, or not all
	failure  error // the same in words, where there are none
}

// rocmOutputOf returns what rocm-smi printed.
func rocmOutputOf(r *command.Result) *rocmOutput {
	out, err := parseROCm(r.Stdout)
	if out == nil {
		out = &rocmOutput{}
	}
	out.exitCode, out.err = r.ExitCode, err
	switch {
	case len(out.cards) > 0:
	case err == nil:
		out.failure = noDevice()
	default:
		out.failure = failure(r, err)
	}
	return out
}

// rocmCard is one card. Keys are in lower case, without the colon that clocks keep at their end.
type rocmCard struct {
	index  int
	values map[string]string
}

// errNotJSON: there is no JSON in the output.
var errNotJSON = errors.New("output is not JSON")

// errTruncated: the output ends in the middle.
var errTruncated = errors.New("output ends in the middle")

// parseROCm reads the output of rocm-smi --json. Warnings before the object, and anything after it, are passed over.
// Where the output ends in the middle, the cards before that are returned with errTruncated.
//
// rocm-smi builds its JSON from the lines of its text: it splits each at ": " and keeps the second part, so that all
// values are strings and whatever stands behind a colon in one is lost. Cards are in no order.
func parseROCm(out []byte) (*rocmOutput, error) {
	start := objectStart(out)
	if start < 0 {
		return nil, notJSON(out)
	}
	if err := fewValues(out[start:]); err != nil {
		return nil, err
	}
	result := &rocmOutput{lowPower: bytes.Contains(out[:start], []byte("low-power state"))}
	decoder := json.NewDecoder(bytes.NewReader(out[start:]))
	err := decodeMembers(decoder, func(key string) error {
		var values map[string]scalar
		var mistyped *json.UnmarshalTypeError
		if err := decoder.Decode(&values); err != nil && !errors.As(err, &mistyped) {
			return err
		}
		result.add(key, values)
		return nil
	})
	slices.SortFunc(result.cards, func(a, b rocmCard) int { return a.index - b.index })
	if err != nil {
		return result, fmt.Errorf("%w: %w", errTruncated, err)
	}
	return result, nil
}

func (o *rocmOutput) add(key string, values map[string]scalar) {
	if key == "system" {
		o.system = make(map[string]string, len(values))
		for k, v := range values {
			o.system[k] = string(v)
		}
		return
	}
	digits, ok := strings.CutPrefix(key, "card")
	index, err := strconv.ParseUint(digits, 10, 16)
	listed := slices.ContainsFunc(o.cards, func(c rocmCard) bool { return c.index == int(index) })
	if !ok || err != nil || listed || len(o.cards) == maxDevices {
		return
	}
	card := rocmCard{index: int(index), values: make(map[string]string, len(values))}
	for k, v := range values {
		card.values[strings.ToLower(strings.TrimSuffix(k, ":"))] = string(v)
	}
	o.cards = append(o.cards, card)
}

// value returns the value of the first of several keys that has one.
func (c *rocmCard) value(keys ...string) string {
	for _, k := range keys {
		if v := c.values[k]; meaningful(v) {
			return v
		}
	}
	return ""
}

// scalar is a JSON string, or another scalar as it is written. Objects and arrays are nothing.
type scalar string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(b []byte) error {
	*s = ""
	switch b[0] {
	case '"':
		return json.Unmarshal(b, (*string)(s))
	case '{', '[', 'n':
	default:
		*s = scalar(b)
	}
	return nil
}

// decodeMembers decodes an object, calling member for each key to decode its value.
func decodeMembers(decoder *json.Decoder, member func(key string) error) error {
	if err := expect(decoder, '{'); err != nil {
		return err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return endOf(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("unexpected %v", token)
		}
		if err = member(key); err != nil {
			return endOf(err)
		}
	}
	return expect(decoder, '}')
}

func expect(decoder *json.Decoder, delim json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return endOf(err)
	}
	if token != delim {
		return fmt.Errorf("unexpected %v", token)
	}
	return nil
}

// endOf words the end of the input as what it is here.
func endOf(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// maxValues bounds the values of a document, of which each takes a hundred bytes and more, while it has two or three in the
// document. A machine of 64 partitions and hundreds of processes has some hundred thousand.
const maxValues = 1 << 19

// fewValues tells whether a document may be decoded.
func fewValues(document []byte) error {
	values := 0
	for _, c := range document {
		if c == ',' || c == '{' || c == '[' {
			values++
		}
	}
	if values > maxValues {
		return fmt.Errorf("output has too many values: some %d, where no machine has more than %d", values, maxValues)
	}
	return nil
}

// objectStart returns where the first JSON object begins; -1 if there is none.
func objectStart(out []byte) int {
	for i := range out {
		if out[i] != '{' {
			continue
		}
		if next := bytes.TrimLeft(out[i+1:], " \t\r\n"); len(next) > 0 && (next[0] == '"' || next[0] == '}') {
			return i
		}
	}
	return -1
}

func notJSON(out []byte) error {
	if len(bytes.TrimSpace(out)) == 0 {
		return fmt.Errorf("%w: there is none", errNotJSON)
	}
	return fmt.Errorf("%w: it begins with %q", errNotJSON, excerpt(out))
}
