// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Two GPUs with one UUID do not hide each other, and neither has the other's values.
func TestDuplicateUUID(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = strings.ReplaceAll(f.xml.stdout, h100Second, h100First)
	r := newReader(t, QueryFull, f, newClock())
	for range 2 {
		node := read(t, r)
		assert.Equal(t, []string{h100First, ""}, ids(node))
		assert.Equal(t, "0000:43:00.0", node.Devices[1].Info.PCIAddress)
		assert.NotEqual(t, node.Devices[0].Name, node.Devices[1].Name)
		assert.NotEqual(t, node.Devices[0].Power.Draw, node.Devices[1].Power.Draw)
		assert.Equal(t, counts(2, 0), presence(node))
		assert.Contains(t, problems(node), "lists two GPUs as "+h100First+": the one at 0000:43:00.0 is identified by its PCI address")
	}
}

// GPUs whose UUIDs cannot be read are no duplicates, and a GPU that is reported on both streams is one GPU.
func TestNoDuplicates(t *testing.T) {
	f := h100Tool(t)
	f.xml.stdout = strings.NewReplacer(h100First, "N/A", h100Second, "N/A").Replace(f.xml.stdout)
	node := read(t, newReader(t, QueryFull, f, newClock()))
	assert.Equal(t, []string{"", ""}, ids(node))
	assert.NotContains(t, problems(node), "as ")

	f = h100Tool(t)
	f.xml.stdout, f.xml.stderr = handle+withoutSecond(f.xml.stdout), handle
	node = read(t, newReader(t, QueryFull, f, newClock()))
	assert.Len(t, node.Devices, 2)
	assert.Empty(t, problems(node))
	assert.Equal(t, counts(1, 1), presence(node))
}
