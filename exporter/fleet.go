// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuviewexporter // import "github.com/otelgpu/gpureceiver/exporter"

import (
	"os"

	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/view/fleet"
)

// newFleet is the store of what the pipelines bring.
func newFleet(cfg *Config, logger *zap.Logger) store {
	instance, err := os.Hostname()
	if err != nil {
		logger.Warn("No host name", zap.Error(err), zap.String("effect", "the page does not show the host on which the collector runs"))
	}
	return fleet.New(fleet.Settings{
		Instance: instance, Logger: logger, HistoryFor: cfg.History, HistoryPoints: cfg.HistoryPoints, GoneAfter: cfg.GoneAfter,
		IdleThreshold: cfg.IdleThreshold, IdleAfter: cfg.IdleAfter,
		MaxNodes: cfg.MaxNodes, MaxGPUs: cfg.MaxGPUs, MaxProcesses: cfg.MaxProcesses,
	})
}
