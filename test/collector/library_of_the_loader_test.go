// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// No scraper is configured: the loader finds the library by its name.
func TestLibraryOfTheLoader(t *testing.T) {
	t.Parallel()
	n := start(t, spec{
		env:     []string{"LD_LIBRARY_PATH=" + simulator(t).Dir},
		nvml:    "LOADER",
		replace: map[string]string{"    scrapers:\n      nvml: LOADER\n": ""},
	})
	n.next("eight GPUs", full(8))
	for _, line := range n.process.Complaints() {
		assert.NotContains(t, line, `"scraper": "nvml"`) // a message that there is no AMD GPU is allowed
	}
	n.interrupt()
}
