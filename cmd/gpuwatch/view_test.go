// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// message is the message of a vendor's source with this many GPUs.
func message(vendor string, gpus int) pmetric.Metrics {
	metrics := pmetric.NewMetrics()
	all := metrics.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	point := func(name string, attributes map[string]any) {
		m := all.AppendEmpty()
		m.SetName(name)
		p := m.SetEmptySum().DataPoints().AppendEmpty()
		p.SetIntValue(1)
		p.SetTimestamp(pcommon.NewTimestampFromTime(time.Unix(1, 0)))
		_ = p.Attributes().FromRaw(attributes)
	}
	point("hw.gpu.count", map[string]any{"hw.vendor": vendor, "hw.gpu.presence": "visible"})
	for i := range gpus {
		id := fmt.Sprintf("%s-%d", vendor, i)
		point("hw.gpu.info", map[string]any{"hw.id": id, "hw.vendor": vendor, "hw.name": fmt.Sprintf("gpu%d", i)})
		point("hw.status", map[string]any{"hw.id": id, "hw.state": "ok"})
	}
	return metrics
}

func shown(v *view) []string {
	var ids []string
	for _, g := range v.sorted() {
		ids = append(ids, g.id)
	}
	return ids
}

// With `make run` both vendors send separate messages: that of a vendor without GPUs does not remove the other's GPUs.
func TestVendorsDoNotTakeEachOthersGPUs(t *testing.T) {
	v := newView()
	v.update(message("NVIDIA", 2))
	v.update(message("AMD", 0))
	assert.Equal(t, []string{"NVIDIA-0", "NVIDIA-1"}, shown(v))
	assert.Equal(t, 6, v.points(), "of both")
	v.update(message("AMD", 1))
	assert.Equal(t, []string{"AMD-0", "NVIDIA-0", "NVIDIA-1"}, shown(v))
	v.update(message("NVIDIA", 1))
	assert.Equal(t, []string{"AMD-0", "NVIDIA-0"}, shown(v), "one is gone")
	v.update(message("NVIDIA", 0))
	assert.Equal(t, []string{"AMD-0"}, shown(v))
	v.update(message("AMD", 0))
	assert.Empty(t, shown(v))
}

// The tenth GPU comes after the ninth.
func TestGPUsAreSortedByNumber(t *testing.T) {
	v := newView()
	v.update(message("NVIDIA", 12))
	ids := shown(v)
	assert.Equal(t, "NVIDIA-2", ids[2], strings.Join(ids, " "))
	assert.Equal(t, "NVIDIA-11", ids[11])
}
