// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
)

// componentStatus reports the component's status: StatusRecoverableError while a scraper needs a restart of the collector,
// else StatusOK. Each change is reported once to the host of each receiver.
type componentStatus struct {
	mu      sync.Mutex
	hosts   []component.Host
	reasons map[string]error // by scraper
}

// reportTo adds a host. A host assumes StatusOK until it gets a report.
func (s *componentStatus) reportTo(host component.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, host)
	for _, reason := range s.reasons {
		componentstatus.ReportStatus(host, componentstatus.NewRecoverableErrorEvent(reason))
		return // one reason is enough: the status is the same
	}
}

// update sets why a scraper needs a restart; nil if it does not.
func (s *componentStatus) update(scraper string, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.reasons)
	if reason == nil {
		delete(s.reasons, scraper)
	} else {
		if s.reasons == nil {
			s.reasons = map[string]error{}
		}
		s.reasons[scraper] = reason
	}
	if (len(s.reasons) > 0) == (before > 0) {
		return // the status has not changed
	}
	event := componentstatus.NewEvent(componentstatus.StatusOK)
	if reason != nil {
		event = componentstatus.NewRecoverableErrorEvent(reason)
	}
	for _, host := range s.hosts {
		componentstatus.ReportStatus(host, event)
	}
}
