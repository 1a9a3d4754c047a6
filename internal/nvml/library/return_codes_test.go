// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCodes(t *testing.T) {
	for c, text := range codeTexts {
		assert.True(t, strings.HasPrefix(c.Error(), text))
		if remedy := codeRemedies[c]; remedy != "" {
			assert.Contains(t, c.Error(), remedy)
		}
	}
	assert.Equal(t, "error 4711", Code(4711).Error())
	for c, want := range map[Code]Answer{
		OK: Answered, NotFound: NoValue, NoData: NoValue, NotSupported: Unsupported, ArgumentVersion: Unsupported,
		NoPermission: Denied, Unknown: Failed, Timeout: Failed, 4711: Failed, Panicked: Failed,
		GPUIsLost: DeviceGone, ResetRequired: DeviceGone, Uninitialized: DriverGone, VersionMismatch: DriverGone,
	} {
		assert.Equal(t, want, c.Answer(), "%v", c)
	}
}
