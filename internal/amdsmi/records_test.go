// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdsmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitext"
)

func TestParseRecords(t *testing.T) {
	t.Parallel()
	const warnings = "WARNING: User is missing the following required groups: render, video. Please add user to these groups.\n" +
		"[amd-smi] {note} GPU[0]\n"
	for name, input := range map[string]string{
		"list":                   `[{"gpu": 0}, {"gpu": 1}]`,
		"gpu_data":               `{"gpu_data": [{"gpu": 0}, {"gpu": 1}]}`,
		"gpu_data among others":  `{"cpu_data": [{"cpu": 0}], "core_data": [], "gpu_data": [{"gpu": 0}, {"gpu": 1}], "nic_data": null}`,
		"lists in a list":        `{"xgmi_metric": [[{"gpu": 0}], [[{"gpu": 1}]]]}`,
		"warnings before, after": warnings + `[{"gpu": 0}, {"gpu": 1}]` + "\n[{\"gpu\": 0}]\nbye",
		"what is no record":      `[{"gpu": 0}, null, 7, "N/A", {"gpu": 1}]`,
	} {
		list, err := parseRecords([]byte(input))
		require.NoError(t, err, name)
		require.Len(t, list, 2, name)
		for i, r := range list {
			n, ok := r.integer("gpu")
			assert.True(t, ok, name)
			assert.Equal(t, i, n, name)
		}
	}
	list, err := parseRecords([]byte(`{"gpu": 4, "bdf": "x"}`))
	require.NoError(t, err)
	require.Len(t, list, 1)
	for _, input := range []string{`[]`, `{}`, `{"gpu_data": []}`, `{"gpu_data": "N/A"}`, `{"gpu_data": null}`, `[[[[[[[{"gpu": 0}]]]]]]]`} {
		list, err = parseRecords([]byte(input))
		require.NoError(t, err, input)
		assert.Empty(t, list, input)
	}
	_, err = parseRecords([]byte(`{"error": "Parameter '-e' is invalid. Run '--help' for more info.", "code": -2}`))
	var refused *toolError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, []string{"-e", "--help"}, quoted(refused.message))

	for input, want := range map[string]struct {
		records int
		err     string
	}{
		`[{"gpu": 0}, {"gpu"`:             {1, "output ends in the middle"},
		`[{"gpu": 0}`:                     {1, "output ends in the middle"},
		`{"gpu_data": [{"gpu": 0}, {"g`:   {1, "output ends in the middle"},
		`{"gpu_data": [{"gpu": 0}]`:       {1, "output ends in the middle"},
		`{"gpu": 0`:                       {0, "output ends in the middle"},
		`[{"gpu": 0}}`:                    {1, "output ends in the middle"},
		`[`:                               {0, "output is not JSON"},
		"":                                {0, "output is not JSON: it is empty"},
		"GPU: 0\n    USAGE: [1 %, N/A]\n": {0, `output is not JSON: it begins with "GPU: 0 USAGE`},
	} {
		list, err = parseRecords([]byte(input))
		require.ErrorContains(t, err, want.err, input)
		assert.Len(t, list, want.records, input)
	}
}

func TestRecordAccess(t *testing.T) {
	t.Parallel()
	list, err := parseRecords([]byte(`[{"a": {"b": {"c": 1}, "s": "N/A"}, "n": null, "q": {"value": "N/A", "unit": "W"}, "r": {"value": 2, "unit": "W"}, "t": "x"}]`))
	require.NoError(t, err)
	r := list[0]
	assert.NotNil(t, r.lookup("a", "b", "c"))
	assert.Nil(t, r.lookup("a", "s", "c"))
	assert.Nil(t, r.lookup("n", "c"))
	assert.Nil(t, r.section("a", "s"))
	assert.Empty(t, r.section("nothing").text("x"))
	smitest.RequireNear(t, 2, smitext.Quantity(r.first("n", "q", "r"), smitext.Watts, ""), "the first with a value")
	assert.Equal(t, "x", r.text("a", "t"), "a section is no text")
	_, ok := r.integer("t")
	assert.False(t, ok)
}

func TestDocumentsOfTooManyValues(t *testing.T) {
	for _, document := range append(smitest.TooManyValues(), "[[{}"+strings.Repeat(",{}", (1<<19))+"]]") {
		_, err := parseRecords([]byte("WARNING: something\n" + document))
		require.ErrorContains(t, err, "too many values")
	}
}
