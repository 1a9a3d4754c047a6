// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each tool is searched in the directories in which the vendor's drivers install it, and in the system's own directories first.
func TestPlaces(t *testing.T) {
	dirs := func(tool Tool) (all []string) {
		for _, p := range places(tool) {
			all = append(all, p.dir)
		}
		return all
	}
	for tool, own := range map[Tool]string{NvidiaSMI: "/run/nvidia/driver/usr/bin", ROCmSMI: "/opt/rocm/bin", AMDSMI: "/opt/rocm/bin"} {
		assert.Equal(t, "/usr/bin", dirs(tool)[0], tool)
		assert.Contains(t, dirs(tool), own, tool)
	}
	assert.NotContains(t, dirs(NvidiaSMI), "/opt/rocm/bin")
	i := slices.Index(dirs(NvidiaSMI), "/run/nvidia/driver/usr/bin")
	assert.Contains(t, places(NvidiaSMI)[i].libraries, "/run/nvidia/driver/usr/lib/x86_64-linux-gnu")
}
