// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Errors of libraries can have credentials; what else they say stays.
func TestWithoutSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"parse \"https://user:s3cret@host:1/path\": bad": "parse \"https://[removed]@host:1/path\": bad",
		"get https://user:s3c/ret@host: refused":         "get https://[removed]@host: refused",
		"get https://user:s3c@ret@host: refused":         "get https://[removed]@host: refused",
		"unix://a, ask admin@host":                       "unix://a, ask admin@host",
		"header Authorization: Bearer s3cret.s3cret":     "header Authorization: Bearer [removed]",
		"header authorization: basic dXNlcjpzM2NyZXQ=":   "header authorization: basic [removed]",
		"a bearer of news":                               "a bearer of news",
	} {
		assert.Equal(t, want, withoutSecrets(text))
	}
}
