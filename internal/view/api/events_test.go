// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/view"
)

func TestEvents(t *testing.T) {
	for query, want := range map[string][]string{
		"":                            {"e3", "e2", "e1"},
		"?sort=time":                  {"e1", "e2", "e3"},
		"?cluster=prod":               {"e3", "e2"},
		"?cluster=lab":                {"e1"},
		"?node=n2":                    {"e3", "e2"},
		"?node=retired":               {"e1"}, // nothing else is known of it
		"?gpu=GPU-n2-1":               {"e3", "e2"},
		"?node=n2&gpu=1":              {"e3", "e2"}, // the same by its index
		"?gpu=GPU-retired-0":          {"e1"},
		"?name=hw.gpu.status":         {"e3", "e1"},
		"?cluster=prod&node=empty":    nil,
		"?severity=WARN":              {"e3", "e2"},
		"?severity=INFO":              {"e3", "e2", "e1"},
		"?since=90s":                  {"e3"},
		"?since=2026-11-22T11:55:00Z": {"e3", "e2"},
		"?cluster=cpu":                nil, // a cluster without GPUs has no events, and that is not an error
		"?limit=1":                    {"e3"},
	} {
		var uids []string
		l := decode[view.List[view.Event]](t, get(t, "/api/v1/gpu/events"+query))
		for _, e := range l.Items {
			if !strings.HasPrefix(e.UID, "other-") { // one of each other event
				uids = append(uids, e.UID)
			}
		}
		assert.Equal(t, want, uids, query)
	}
	for query, status := range map[string]int{
		"?cluster=no": 404, "?node=n9": 404, "?node=n1": 409, "?gpu=GPU-none": 404, "?severity=LOUD": 400, "?since=yesterday": 400, "?since=-5m": 400,
	} {
		assert.Equal(t, status, get(t, "/api/v1/gpu/events"+query).Code, query)
	}
}
