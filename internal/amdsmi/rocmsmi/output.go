// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
	"github.com/otelgpu/gpureceiver/internal/command"
)

// output is what rocm-smi --json printed: the lines of its text output by card, as keys and values.
type output struct {
	cards  []card
	system map[string]string
	// lowPower: a card is asleep, and its temperatures, power and clocks are missing.
	lowPower bool

	exitCode int
	err      error // why cards are missing
	failure  error // why there are no cards, with a remedy
}

// outputOf reads the result of rocm-smi --json.
func outputOf(r *command.Result) *output {
	out, err := parseOutput(r.Stdout)
	if out == nil {
		out = &output{}
	}
	out.exitCode, out.err = r.ExitCode, err
	switch {
	case len(out.cards) > 0:
	case err == nil:
		out.failure = smitext.NoDevice()
	default:
		out.failure = smitext.Failure(r, err)
	}
	return out
}

// parseOutput reads the output of rocm-smi --json. It ignores warnings before the object and anything after it. If the output ends in the
// middle, it returns the cards before that with smitext.ErrTruncated.
//
// rocm-smi builds its JSON from the lines of its text. It splits each at ": " and keeps the second part, so all values are strings, and
// text after a colon in a value is lost. Cards are in no order.
func parseOutput(out []byte) (*output, error) {
	start := smitext.ObjectStart(out)
	if start < 0 {
		return nil, smitext.NotJSON(out)
	}
	if err := smitext.CheckSize(out[start:]); err != nil {
		return nil, err
	}
	result := &output{lowPower: bytes.Contains(out[:start], []byte("low-power state"))}
	decoder := json.NewDecoder(bytes.NewReader(out[start:]))
	err := smitext.DecodeMembers(decoder, func(key string) error {
		var values map[string]scalar
		var mistyped *json.UnmarshalTypeError
		if err := decoder.Decode(&values); err != nil && !errors.As(err, &mistyped) {
			return err
		}
		result.add(key, values)
		return nil
	})
	slices.SortFunc(result.cards, func(a, b card) int { return a.index - b.index })
	if err != nil {
		return result, fmt.Errorf("%w: %w", smitext.ErrTruncated, err)
	}
	return result, nil
}

func (o *output) add(key string, values map[string]scalar) {
	if key == "system" {
		o.system = make(map[string]string, len(values))
		for k, v := range values {
			o.system[k] = string(v)
		}
		return
	}
	digits, ok := strings.CutPrefix(key, "card")
	index, err := strconv.ParseUint(digits, 10, 16)
	listed := slices.ContainsFunc(o.cards, func(c card) bool { return c.index == int(index) })
	if !ok || err != nil || listed || len(o.cards) == smidevice.MaxDevices {
		return
	}
	card := card{index: int(index), values: make(map[string]string, len(values))}
	for k, v := range values {
		card.values[strings.ToLower(strings.TrimSuffix(k, ":"))] = string(v)
	}
	o.cards = append(o.cards, card)
}

// scalar is a JSON string, or another scalar as it is written. Objects and arrays become the empty string.
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
