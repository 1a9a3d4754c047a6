// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package filestorage

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configretry"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/exporter/exportertest"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/pdata/plog"
)

type hostWith map[component.ID]component.Component

func (h hostWith) GetExtensions() map[component.ID]component.Component { return h }

// startQueue starts an exporter with one consumer and a queue in contrib's file_storage.
func startQueue(t *testing.T, dir string, send func(plog.Logs) error) exporter.Logs {
	t.Helper()
	factory := filestorage.NewFactory()
	id := component.NewID(factory.Type())
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = dir
	disk, err := factory.Create(t.Context(), extensiontest.NewNopSettings(factory.Type()), cfg)
	require.NoError(t, err)
	set := exportertest.NewNopSettings(component.MustNewType("otlp"))
	set.ID = component.MustNewID("otlp")
	settings := exporterhelper.NewDefaultQueueConfig()
	settings.StorageID, settings.NumConsumers, settings.Batch = &id, 1, configoptional.None[exporterhelper.BatchConfig]()
	retry := configretry.NewDefaultBackOffConfig()
	retry.InitialInterval, retry.MaxElapsedTime = time.Hour, 0
	e, err := exporterhelper.NewLogs(t.Context(), set, struct{}{}, func(_ context.Context, logs plog.Logs) error { return send(logs) },
		exporterhelper.WithQueue(configoptional.Some(settings)), exporterhelper.WithRetry(retry))
	require.NoError(t, err)
	require.NoError(t, e.Start(t.Context(), hostWith{id: disk}))
	return e
}

// message returns a message of some size with a name.
func message(name string) plog.Logs {
	logs := plog.NewLogs()
	record := logs.ResourceLogs().AppendEmpty().ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	record.SetEventName(name)
	record.Body().SetStr(strings.Repeat("x", 10_000))
	return logs
}

// The Collector's queue loses messages that are on disk if it starts on a full disk (docs/upstream.md). If this test fails because all messages
// are delivered, remove the notes in docs/upstream.md and docs/reference/storage-and-kernel-log.md.
func TestQueueOnAFullDisk(t *testing.T) {
	const messages = 20
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Skipf("no disk of its own: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	trying := make(chan struct{}, messages)
	e := startQueue(t, dir, func(plog.Logs) error {
		trying <- struct{}{}
		return errors.New("the backend is away")
	})
	for i := range messages {
		require.NoError(t, e.ConsumeLogs(t.Context(), message(strconv.Itoa(i))))
	}
	<-trying
	require.NoError(t, e.Shutdown(t.Context()))

	ballast := filepath.Join(dir, "ballast")
	require.ErrorIs(t, os.WriteFile(ballast, make([]byte, 8<<20), 0o600), syscall.ENOSPC)
	delivered, last := map[string]bool{}, make(chan struct{})
	e = startQueue(t, dir, func(logs plog.Logs) error {
		if logs.LogRecordCount() == 0 {
			return nil // in place of a message that is lost
		}
		name := logs.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).EventName()
		delivered[name] = true
		if name == "last" {
			close(last)
		}
		return nil
	})
	require.NoError(t, os.Remove(ballast))
	require.NoError(t, e.ConsumeLogs(t.Context(), message("last")))
	<-last // one consumer sends in order
	require.NoError(t, e.Shutdown(t.Context()))
	delete(delivered, "last")
	t.Logf("%d of %d messages are delivered", len(delivered), messages)
	assert.Less(t, len(delivered), messages)
}
