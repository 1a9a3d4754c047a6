// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rocmsmi

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smidevice"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
)

func TestParseOutput(t *testing.T) {
	t.Parallel()
	const noise = "\nWARNING: AMD GPU device(s) is/are in a low-power state. {Check} power control/runtime_status\nExpected integer value from monitor, but got \"\"\n"
	out, err := parseOutput([]byte(noise + `{"card10": {"A:": "1", "b": "x: y"}, "card2": {}, "system": {"Driver version": "6.3.6"}, "other": 1}` + "\ntrailing {"))
	require.NoError(t, err)
	assert.True(t, out.lowPower)
	require.Len(t, out.cards, 2)
	assert.Equal(t, 2, out.cards[0].index, "in the order of their numbers")
	assert.Equal(t, 10, out.cards[1].index)
	assert.Equal(t, map[string]string{"a": "1", "b": "x: y"}, out.cards[1].values)
	assert.Equal(t, map[string]string{"Driver version": "6.3.6"}, out.system)

	for input, want := range map[string]string{
		"":                             "output is not JSON: it is empty",
		" \n":                          "output is not JSON: it is empty",
		"{":                            "output is not JSON",
		"GPU[0] : 5\n":                 `output is not JSON: it begins with "GPU[0] : 5"`,
		`{"card0"`:                     "output ends in the middle",
		`{"card0": {"a": "1"}`:         "output ends in the middle",
		`{"card0": {"a": "1"}, `:       "output ends in the middle",
		`{"card0": {"a": "1"}, 7: {}}`: "output ends in the middle",
		`{"card0": {"a": "1"}]`:        "output ends in the middle",
	} {
		_, err = parseOutput([]byte(input))
		require.ErrorContains(t, err, want, input)
	}
	var many strings.Builder
	many.WriteString("{")
	for i := range smidevice.MaxDevices + 10 {
		many.WriteString(`"card` + strconv.Itoa(i) + `": {}, "card1": {}, `)
	}
	out, err = parseOutput([]byte(many.String() + `"card2": {}}`))
	require.NoError(t, err)
	assert.Len(t, out.cards, smidevice.MaxDevices)
}

func TestDocumentsOfTooManyValues(t *testing.T) {
	for _, document := range smitest.TooManyValues() {
		_, err := parseOutput([]byte("WARNING: something\n" + document))
		require.ErrorContains(t, err, "too many values")
	}
}
