// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// The receiver declares that it mutates data if its consumer does.
func TestCapabilitiesPass(t *testing.T) {
	g := newConsumerGate()
	mutating, err := consumer.NewMetrics(func(context.Context, pmetric.Metrics) error { return nil },
		consumer.WithCapabilities(consumer.Capabilities{MutatesData: true}))
	require.NoError(t, err)
	through, err := g.metrics(mutating)
	require.NoError(t, err)
	assert.True(t, through.Capabilities().MutatesData)
	through, err = g.metrics(consumertest.NewNop())
	require.NoError(t, err)
	assert.False(t, through.Capabilities().MutatesData)
}
