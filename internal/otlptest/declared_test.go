// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

func TestDeclared(t *testing.T) {
	declared, err := ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	m := newMessage(t)
	m.host.Resource().Attributes().PutStr("host.nom", "a")
	m.add(m.host, "hw.watts", "gauge", 1, nil)
	m.add(m.host, "hw.power", "counter", 1, map[string]any{"hw.type": "cpu", "hw.colour": "red"})
	m.add(m.host, "hw.gpu.io", "counter", 1, nil)
	got := declared.Violations(m.metrics)
	for _, want := range []string{
		`resource: host.nom is "a", declared as ""`,
		"hw.watts is not declared",
		"hw.gpu.io is of double, declared as int",
		"hw.power is a counter of J, declared as a gauge of W",
		"hw.power{hw.colour=red,hw.id=GPU-1,hw.type=cpu}: hw.colour is not declared",
		"hw.power{hw.colour=red,hw.id=GPU-1,hw.type=cpu}: hw.type is not one of [gpu]",
		"hw.status{hw.id=GPU-1,hw.state=ok}: hw.type is required",
	} {
		assert.Contains(t, got, want)
	}
	assert.Equal(t, []string{"event hw.gpu.xyz is not declared"}, declared.EventViolations("hw.gpu.xyz", pcommon.NewMap()))
	assert.Equal(t, []string{
		"hw.gpu.xid: error.type is required", "hw.gpu.xid: hw.gpu.xid is required", "hw.gpu.xid: hw.id is required", "hw.gpu.xid: log.record.uid is required",
	}, declared.EventViolations("hw.gpu.xid", pcommon.NewMap()))
}
