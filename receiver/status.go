// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// health is the status of the component: recoverable as long as only a restart of the collector can help a scraper. Each
// change is reported once, to each of the receivers of one configuration.
type health struct {
	mu      sync.Mutex
	hosts   []component.Host
	reasons map[string]error // by scraper
}

// tell adds a host to report to. It knows the component to be well so far.
func (h *health) tell(host component.Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hosts = append(h.hosts, host)
	for _, reason := range h.reasons {
		componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(reason))
		return
	}
}

// update notes why a scraper needs a restart; nil where it needs none.
func (h *health) update(scraper string, reason error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := len(h.reasons)
	if reason == nil {
		delete(h.reasons, scraper)
	} else {
		if h.reasons == nil {
			h.reasons = map[string]error{}
		}
		h.reasons[scraper] = reason
	}
	if (len(h.reasons) > 0) == (before > 0) {
		return
	}
	event := componentstatus.NewEvent(componentstatus.StatusOK)
	if reason != nil {
		event = componentstatus.NewRecoverableErrorEvent(reason)
	}
	for _, host := range h.hosts {
		componentstatus.ReportStatus(host, event)
	}
}
