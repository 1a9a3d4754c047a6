// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestIdentitiesInOTLP(t *testing.T) {
	t.Parallel()
	i := newIdentities([]string{"GPU-a", "GPU-a/1", "node-1/0000:01:00.0"})
	got, err := i.otlp([]byte(`{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"node-1"}}]},"body":{"stringValue":"XID of python"},
		"attributes":[{"key":"hw.id","value":{"stringValue":"GPU-a"}},{"key":"hw.parent","value":{"stringValue":"GPU-unknown"}},
		{"key":"hw.gpu.task","value":{"stringValue":"general"}},{"key":"process.pid","value":{"intValue":"7"}},
		{"key":"hw.gpu.used_by","value":{"arrayValue":{"values":[{"stringValue":"ns/pod"}]}}},{"key":"process.user.id","value":{"intValue":"1000"}}]}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"removed"}}]},
		"attributes":[{"key":"hw.id","value":{"stringValue":"GPU-1"}},{"key":"hw.parent","value":{"stringValue":"removed"}},
		{"key":"hw.gpu.task","value":{"stringValue":"general"}},{"key":"process.pid","value":{"intValue":"7"}},
		{"key":"hw.gpu.used_by","value":{"stringValue":"removed"}},{"key":"process.user.id","value":{"stringValue":"removed"}}]}`, string(got))
	assert.Equal(t, "GPU-3, GPU-2 and GPU-1 at removed, removed", i.text("node-1/0000:01:00.0, GPU-a/1 and GPU-a at 00000000:5A:00.0, MIG-58000000-0000-4000-8000-000000000001"))
}

func TestIdentitiesInToolOutput(t *testing.T) {
	t.Parallel()
	i := newIdentities(nil)
	got := i.tool(`    Product Name                          : NVIDIA H200
    Serial Number                         : 1650000000777
    GPU PDI                               : 0xc86ce88c7c4b5ade
    Board ID                              : 0x6
    PCI
        Bus                               : 0x5A
        Bus Id                            : 00000000:5A:00.0
        Device Id                         : 0x233510DE
        Process ID                        : 4711
            Name                          : /home/jane/train.py
    Platform Info
        Chassis Serial Number             : 1820000
`)
	assert.Equal(t, `    Product Name                          : NVIDIA H200
    Serial Number                         : removed
    GPU PDI                               : removed
    Board ID                              : removed
    PCI
        Bus                               : removed
        Bus Id                            : removed
        Device Id                         : 0x233510DE
        Process ID                        : 4711
            Name                          : removed
    Platform Info
        Chassis Serial Number             : removed
`, got)

	xml, err := os.ReadFile(filepath.Join("..", "..", "internal", "nvidiasmi", "parse", "testdata", "xml", "v13-580.xml"))
	require.NoError(t, err)
	got = i.tool(string(xml))
	assert.Contains(t, got, "<product_name>NVIDIA H100")
	for _, line := range []string{"<serial>", "<uuid>", "<process_name>"} {
		assert.Contains(t, string(xml), line)
		assert.Contains(t, got, line+removed+"</")
	}
	assert.NotRegexp(t, `58000000-|gpu id="0`, got)
}
