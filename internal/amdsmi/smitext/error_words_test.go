// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/amdsmi/smitest"
)

func TestIsError(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"ERR!": true, "[Unknown Error]": true, "Error: 5": true, "Unable to detect fan speed for GPU 0": false, "AMDSMI_STATUS_IO - I/O Error": true,
		"RSMI_STATUS_UNEXPECTED_DATA: a read": true, " Failed to open file": true, `Expected integer value from monitor, but got ""`: true,
		"N/A": false, "": false, "UNKNOWN": false, "Not supported on the given system": false, "42": false, "None": false,
		"AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported": false, "RSMI_STATUS_NOT_YET_IMPLEMENTED": false,
	} {
		assert.Equal(t, want, IsError(text), text)
	}
	assert.Equal(t, "ERR!", FirstError(smitest.Decoded(t, `{"a": "N/A", "b": [{"value": 3}, {"value": "ERR!"}], "c": "ERROR"}`)))
	assert.Empty(t, FirstError(smitest.Decoded(t, `{"a": "N/A", "b": [1, null]}`)))
}
