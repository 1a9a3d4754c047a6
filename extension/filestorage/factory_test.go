// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package filestorage

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/collector/extension/xextension/storage"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

var receiverID = component.MustNewID("gpu")

// stored is the file of the receiver.
const stored = "receiver_gpu__events"

// rig is a collector that has a storage.
type rig struct {
	storage   storage.Extension
	logs      *observer.ObservedLogs
	telemetry *componenttest.Telemetry
}

func create(t *testing.T, dir string) *rig {
	t.Helper()
	core, logs := observer.New(zap.DebugLevel)
	r := &rig{logs: logs, telemetry: componenttest.NewTelemetry()}
	factory := NewFactory()
	set := extension.Settings{ID: component.NewID(factory.Type()), TelemetrySettings: r.telemetry.NewTelemetrySettings()}
	set.Logger = zap.New(core)
	cfg := factory.CreateDefaultConfig().(*filestorage.Config)
	cfg.Directory = dir
	result, err := factory.Create(t.Context(), set, cfg)
	require.NoError(t, err)
	r.storage = result.(storage.Extension)
	return r
}

// run starts the extension and returns the client of the receiver.
func (r *rig) run(t *testing.T) storage.Client {
	t.Helper()
	require.NoError(t, r.storage.Start(t.Context(), componenttest.NewNopHost()))
	client, err := r.storage.GetClient(t.Context(), component.KindReceiver, receiverID, "events")
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close(t.Context()) })
	return client
}

// setAside returns the counter.
func (r *rig) setAside(t *testing.T) int64 {
	t.Helper()
	m, err := r.telemetry.GetMetric("otelcol_gpu_storage_damaged_files")
	require.NoError(t, err)
	return m.Data.(metricdata.Sum[int64]).DataPoints[0].Value
}

// filled returns a storage with many entries, and its directory.
func filled(t *testing.T) (dir string, data []byte) {
	t.Helper()
	dir = t.TempDir()
	client := create(t, dir).run(t)
	for i := range 200 {
		require.NoError(t, client.Set(t.Context(), fmt.Sprint("event/", i), bytes.Repeat([]byte{byte(i)}, 3000)))
	}
	require.NoError(t, client.Close(t.Context()))
	data, err := os.ReadFile(filepath.Join(dir, stored))
	require.NoError(t, err)
	return dir, data
}

// A file that would end the process is renamed, and the collector runs with a storage.
func TestDamagedFiles(t *testing.T) {
	_, whole := filled(t)
	garbage := make([]byte, len(whole))
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(garbage)
	header := bytes.Clone(whole) // its pages claim to be longer than the file
	for page := 2 * 4096; page < len(header); page += 4096 {
		if header[page+8] == 2 { // a leaf
			header[page+15] = 1
		}
	}
	require.NotEqual(t, whole, header)
	damaged := map[string][]byte{
		"garbage":             garbage,
		"garbage in a header": header,
		"text":                []byte("no database"),
		"cut to 30 %":         whole[:len(whole)*3/10],
		"garbage in pages":    append(bytes.Clone(whole[:16384]), garbage[16384:]...),
		"zeros in pages":      append(bytes.Clone(whole[:16384]), make([]byte, len(whole)-16384)...),
	}
	for name, data := range damaged {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, stored)
			require.NoError(t, os.WriteFile(path, data, 0o600))
			r := create(t, dir)
			client := r.run(t)
			require.NoError(t, client.Set(t.Context(), "key", []byte("value")))
			value, err := client.Get(t.Context(), "key")
			require.NoError(t, err)
			assert.Equal(t, "value", string(value))
			aside, err := filepath.Glob(path + ".*.backup")
			require.NoError(t, err)
			require.Len(t, aside, 1)
			content, err := os.ReadFile(aside[0])
			require.NoError(t, err)
			assert.Equal(t, data, content)
			lines := r.logs.FilterMessage("Damaged storage file set aside").All()
			require.Len(t, lines, 1)
			assert.Equal(t, path, lines[0].ContextMap()["file"])
			assert.Equal(t, aside[0], lines[0].ContextMap()["renamed_to"])
			assert.Contains(t, lines[0].ContextMap()["remedy"], "check the disk")
			assert.EqualValues(t, 1, r.setAside(t))
		})
	}
}

// What was stored is there at the next start, and files of others stay as they are.
func TestWholeFilesStay(t *testing.T) {
	dir, _ := filled(t)
	foreign := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(foreign, []byte("text"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "exporter_otlp__metrics"), nil, 0o600))
	r := create(t, dir)
	value, err := r.run(t).Get(t.Context(), "event/7")
	require.NoError(t, err)
	assert.Equal(t, bytes.Repeat([]byte{7}, 3000), value)
	assert.FileExists(t, foreign)
	assert.Zero(t, r.logs.FilterMessage("Damaged storage file set aside").Len())
	assert.Zero(t, r.setAside(t))
}

// Opening a link to a missing file would create the target, wherever it is. The link is refused and stays.
func TestDanglingLink(t *testing.T) {
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	require.NoError(t, os.Symlink(target, filepath.Join(dir, stored)))
	r := create(t, dir)
	err := r.storage.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, filepath.Join(dir, stored)+" is a symbolic link to a file that does not exist")
	require.ErrorContains(t, err, "remove the link")
	assert.NoFileExists(t, target)
	assert.Zero(t, r.setAside(t))
	require.NoError(t, os.WriteFile(target, nil, 0o600)) // a link to a file that exists is used
	require.NoError(t, create(t, dir).run(t).Set(t.Context(), "key", []byte("value")))
}

// A file that another collector has open is not touched, although it may be just being written.
func TestFileInUse(t *testing.T) {
	dir, _ := filled(t)
	create(t, dir).run(t)
	r := create(t, dir)
	require.NoError(t, r.storage.Start(t.Context(), componenttest.NewNopHost()))
	_, err := r.storage.GetClient(t.Context(), component.KindReceiver, receiverID, "events")
	require.ErrorContains(t, err, "timeout")
	assert.FileExists(t, filepath.Join(dir, stored))
}

// A damaged file that cannot be renamed is an error with a remedy, and not the end of the process.
func TestDamagedFileThatStays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "receiver_gpu_"+strings.Repeat("x", 240)) // longer names are not possible
	require.NoError(t, os.WriteFile(path, []byte("no database"), 0o600))
	err := create(t, dir).storage.Start(t.Context(), componenttest.NewNopHost())
	require.ErrorContains(t, err, "cannot be set aside")
	require.ErrorContains(t, err, "remove it")
	assert.FileExists(t, path)
}

func TestFactory(t *testing.T) {
	assert.Equal(t, "file_storage", NewFactory().Type().String())
	_, err := NewFactory().Create(t.Context(), extensiontest.NewNopSettings(NewFactory().Type()), NewFactory().CreateDefaultConfig())
	require.NoError(t, err)
}
