// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package otlptest

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPrometheusViolations(t *testing.T) {
	m := newMessage(t)
	assert.Empty(t, PrometheusViolations(m.metrics))

	m.pod.Resource().Attributes().PutStr("hw.id", "GPU-2")
	assert.Contains(t, PrometheusViolations(m.metrics), "container.gpu.allocated{container.id=c,hw.id=GPU-1}: the label hw_id is GPU-1, of the resource GPU-2")

	m = newMessage(t)
	m.add(m.host, "hw.power", "gauge", 1, map[string]any{"a.b": 1, "a_b": 1})
	assert.Equal(t, []string{"hw.power{a.b=1,a_b=1,hw.id=GPU-1}: a_b is the label a_b of another attribute"}, PrometheusViolations(m.metrics))

	m = newMessage(t)
	m.add(m.host, "hw.power", "gauge", 1, map[string]any{"a.b": 1})
	m.add(m.host, "hw.power", "gauge", 1, map[string]any{"a_b": 1})
	assert.Equal(t, []string{
		"hw.power{a.b=1,hw.id=GPU-1}{host.name=a} and hw.power{a_b=1,hw.id=GPU-1}{host.name=a} are hw_power_ratio{a_b=1,hw_id=GPU-1} without the resource",
		"hw.power{a.b=1,hw.id=GPU-1}{host.name=a} and hw.power{a_b=1,hw.id=GPU-1}{host.name=a} are hw_power_ratio{a_b=1,host_name=a,hw_id=GPU-1} with the resource",
	}, PrometheusViolations(m.metrics))

	m = newMessage(t)
	m.add(m.host, "hw.power_ratio", "gauge", 1, nil)
	m.add(m.pod, "hw.power", "gauge", 1, nil)
	assert.Equal(t, []string{
		"hw.power_ratio{hw.id=GPU-1}{host.name=a} and hw.power{hw.id=GPU-1}{container.id=c} are hw_power_ratio{hw_id=GPU-1} without the resource",
	}, PrometheusViolations(m.metrics))
}
