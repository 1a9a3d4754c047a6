// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"time"
)

// bundled is one file of a bundle.
type bundled struct {
	name string
	text string
}

// SaveBundle writes what an issue report needs as a new file, a .tar.gz. docs/troubleshoot/doctor.md says what it holds.
func SaveBundle(ctx context.Context, path string, report *Report, options Options) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the user names it
	if err != nil {
		return fmt.Errorf("write the bundle: %w", err)
	}
	if err := errors.Join(WriteBundle(ctx, file, report, options), file.Close()); err != nil {
		return fmt.Errorf("write the bundle %s: %w", path, errors.Join(err, os.Remove(path)))
	}
	return nil
}

// WriteBundle writes what SaveBundle saves.
func WriteBundle(ctx context.Context, output io.Writer, report *Report, options Options) error {
	files, err := bundle(ctx, report, options)
	if err != nil {
		return err
	}
	return archive(output, files, report.Time)
}

func bundle(ctx context.Context, report *Report, options Options) ([]bundled, error) {
	data, err := report.JSON()
	if err != nil {
		return nil, err
	}
	files := []bundled{{"doctor.json", string(data)}, {"doctor.txt", report.Text()}, {"versions.txt", versions()}}
	var nodes strings.Builder
	for _, n := range deviceNodes() {
		nodes.WriteString(n.String() + "\n")
	}
	files = append(files, bundled{"device-nodes.txt", nodes.String()})
	for _, fact := range []struct{ name, path string }{
		{"kernel.txt", "/proc/version"}, {"nvidia-driver.txt", "/proc/driver/nvidia/version"}, {"amdgpu-driver.txt", "/sys/module/amdgpu/version"},
	} {
		if text, err := readFact(fact.path); err == nil {
			files = append(files, bundled{fact.name, text})
		}
	}
	if len(options.Config) > 0 {
		config, err := redacted(ctx, options.Config)
		if err != nil {
			return nil, err
		}
		files = append(files, bundled{"config.yaml", config})
	}
	return files, nil
}

// versions are the versions of the program and of its dependencies.
func versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown\n"
	}
	return info.String()
}

func archive(output io.Writer, files []bundled, modTime time.Time) error {
	zipped := gzip.NewWriter(output)
	written := tar.NewWriter(zipped)
	for _, f := range files {
		header := &tar.Header{Name: "otelgpu-doctor/" + f.name, Mode: 0o600, Size: int64(len(f.text)), ModTime: modTime}
		if err := written.WriteHeader(header); err != nil {
			return err
		}
		if _, err := io.WriteString(written, f.text); err != nil {
			return err
		}
	}
	return errors.Join(written.Close(), zipped.Close())
}
