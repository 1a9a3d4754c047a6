// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Help was requested, so it is output. No default in it is a secret.
func TestHelp(t *testing.T) {
	t.Setenv(envToken, "s3cret")
	t.Setenv(envPassword, "s3cret")
	for _, args := range []string{"-h", "help", "get -h", "top --help", "get nodes -h"} {
		got := otelgpu(t, strings.Fields(args)...)
		assert.Zero(t, got.code, args)
		assert.Contains(t, got.out, "otelgpu", args)
		assert.Empty(t, got.err)
		assert.NotContains(t, got.out, "s3cret")
	}
}
