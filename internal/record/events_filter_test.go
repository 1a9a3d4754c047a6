// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"go.opentelemetry.io/collector/filter"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/metadata"
)

// The filters of resource_attributes apply to events: events_include and events_exclude.
func TestEventsPassTheFilters(t *testing.T) {
	host := gpu.Host{Name: "node-a"}
	all := len(allEvents())
	for name, test := range map[string]struct {
		include, exclude []filter.Config
		want             int
	}{
		"included":     {[]filter.Config{{Strict: "node-a"}}, nil, all},
		"not included": {[]filter.Config{{Strict: "node-b"}}, nil, 0},
		"excluded":     {nil, []filter.Config{{Regex: "node-.*"}}, 0},
		"not excluded": {nil, []filter.Config{{Strict: "node-b"}}, all},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := newEvents(func(c *metadata.LogsBuilderConfig) {
				c.ResourceAttributes.HostName.EventsInclude, c.ResourceAttributes.HostName.EventsExclude = test.include, test.exclude
			})
			for range 2 {
				logs := recorder.Record(&host, allEvents(), observed)
				assert.Equal(t, test.want, logs.LogRecordCount(), "filtered events are not sent later")
			}
		})
	}
}
