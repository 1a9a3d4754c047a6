// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package series

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// A kept message is no larger than the compressed message.
func TestPackedIsSmall(t *testing.T) {
	message := pmetric.NewMetrics()
	metric := message.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	metric.SetName("hw.power")
	points := metric.SetEmptyGauge().DataPoints()
	for range 1000 {
		points.AppendEmpty().Attributes().PutStr("hw.id", "GPU-6f1c2a00-5eed-4a11-8c0d-0000c0ffee00")
	}
	packed := pack(message)
	assert.Less(t, cap(packed), 10_000)
	assert.Equal(t, 1000, packed.unpack().DataPointCount())
}
