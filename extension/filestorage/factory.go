// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package filestorage is the extension file_storage of contrib, with a check of its files before they are opened.
//
// bbolt maps a file and reads it in a goroutine of its own. A page that is damaged or missing there ends the process, at each start, and no
// caller can recover from it. Components open their files when they start, after all extensions. So this extension checks the files of its
// directory when it starts, and renames those that cannot be used.
package filestorage // import "github.com/otelgpu/gpureceiver/extension/filestorage"

import (
	"context"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

const scopeName = "github.com/otelgpu/gpureceiver/extension/filestorage"

// NewFactory returns the factory of file_storage. It has the type and the configuration of contrib's file_storage.
func NewFactory() extension.Factory {
	contrib := filestorage.NewFactory()
	create := func(ctx context.Context, set extension.Settings, cfg component.Config) (extension.Extension, error) {
		next, err := contrib.Create(ctx, set, cfg)
		if err != nil {
			return nil, err
		}
		damaged, err := set.MeterProvider.Meter(scopeName).Int64Counter("otelcol_gpu_storage_damaged_files",
			metric.WithDescription("Damaged files of file_storage that were set aside at the start."), metric.WithUnit("{file}"))
		if err != nil {
			return nil, err
		}
		return &checked{Extension: next.(storage.Extension), config: cfg.(*filestorage.Config), logger: set.Logger, damaged: damaged}, nil
	}
	return extension.NewFactory(contrib.Type(), contrib.CreateDefaultConfig, create, contrib.Stability())
}

// checked is the extension of contrib, which starts when no file can end the process.
type checked struct {
	storage.Extension
	config  *filestorage.Config
	logger  *zap.Logger
	damaged metric.Int64Counter
}

// Start sets damaged files aside. No file is open yet.
func (c *checked) Start(ctx context.Context, host component.Host) error {
	c.damaged.Add(ctx, 0) // an increase from 0 is one, too
	if err := c.setDamagedAside(ctx); err != nil {
		return err
	}
	return c.Extension.Start(ctx, host)
}
