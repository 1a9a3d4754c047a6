// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
)

// fleetReceiver is the part of one signal's receiver in the fleet.
type fleetReceiver struct {
	fleet  *fleet
	attach func() // connects the signal's output
}

// Start implements component.Component. Nothing is sent to the consumer before it, and events wait for it.
func (r *fleetReceiver) Start(context.Context, component.Host) error {
	r.fleet.mu.Lock()
	r.attach()
	r.fleet.mu.Unlock()
	return r.fleet.start()
}

// Shutdown implements component.Component.
func (r *fleetReceiver) Shutdown(context.Context) error { return r.fleet.close() }

func newFleetMetrics(f *fleet, set receiver.Settings, next consumer.Metrics) (component.Component, error) {
	obs, err := newObsReport(set)
	if err != nil {
		return nil, err
	}
	return &fleetReceiver{fleet: f, attach: func() { f.metrics = &metricsOutput{obs: obs, next: next} }}, nil
}

func newFleetLogs(f *fleet, set receiver.Settings, next consumer.Logs) (component.Component, error) {
	obs, err := newObsReport(set)
	if err != nil {
		return nil, err
	}
	return &fleetReceiver{fleet: f, attach: func() { f.logs = &eventOutput{logsOutput{obs: obs, next: next}, f.keeper} }}, nil
}

func newObsReport(set receiver.Settings) (*receiverhelper.ObsReport, error) {
	return receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{ReceiverID: set.ID, ReceiverCreateSettings: set})
}
