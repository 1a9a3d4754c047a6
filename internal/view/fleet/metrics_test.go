// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/metadata"
	"github.com/otelgpu/gpureceiver/internal/view"
)

// Each label of a metric is an attribute that the receiver sends with it, and a metric asks for no label that it does not have.
func TestLabels(t *testing.T) {
	values := map[string]any{}
	for _, info := range reflect.ValueOf(metadata.MetricsInfo).Fields() {
		values[info.FieldByName("Name").String()] = info.FieldByName("Attributes").Interface()
	}
	for name, m := range metrics {
		assert.LessOrEqual(t, len(m.labels), maxLabels, name)
		assert.Subset(t, values[name], m.labels, name)
		for _, label := range m.labels {
			key := &fieldKey{metric: m}
			assert.Nil(t, key.optional(label), name)
			key.labels = [maxLabels]string{"0", "1", "2"}
			assert.Equal(t, m.labels[key.label(label)[0]-'0'], label, name)
		}
		require.NotPanics(t, func() {
			key := &fieldKey{metric: m}
			switch {
			case m.onNode != nil:
				m.onNode(&view.Node{}, key, 1)
			case m.onGPU != nil:
				m.onGPU(&view.GPU{}, key, 1)
			case m.onProcess != nil:
				m.onProcess(&view.Process{}, key, 1)
			case m.onContainer != nil:
				m.onContainer(&view.Container{}, key, 1)
			}
		}, name)
	}
}
