// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDialAddress(t *testing.T) {
	for endpoint, want := range map[string][2]string{
		"host":                                  {"tcp", "host:4317"},
		"host:1":                                {"tcp", "host:1"},
		"[::1]:1":                               {"tcp", "[::1]:1"},
		"http://host/v1":                        {"tcp", "host:80"},
		"https://user:s3cret@host":              {"tcp", "host:443"},
		"dns:///host:1":                         {"tcp", "host:1"},
		"passthrough:///host":                   {"tcp", "host:4317"},
		"unix:///run/otlp.sock":                 {"unix", "/run/otlp.sock"},
		"unix:otlp.sock":                        {"unix", "otlp.sock"},
		"https://user:s3c ret@host, and s3cret": {},
		"":                                      {},
	} {
		network, address, err := dialAddress(endpoint, "4317")
		assert.Equal(t, want, [2]string{network, address}, endpoint)
		assert.Equal(t, want[0] == "", err != nil)
		if err != nil {
			assert.NotContains(t, err.Error(), "s3c")
		}
	}
}
