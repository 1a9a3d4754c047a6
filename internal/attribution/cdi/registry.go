// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cdi reads the Container Device Interface (CDI) specification files that device plugins and drivers leave on a node. They
// say which device nodes a CDI device puts into a container. No API is needed for it.
package cdi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

// DefaultDirs returns the directories that the CDI specification names. Files in the second describe running containers and take
// precedence.
func DefaultDirs() []string { return []string{"/etc/cdi", "/var/run/cdi"} }

const (
	maxSpec  = 4 << 20 // bytes of one file
	maxFiles = 2048    // of one directory: there is a file for each claim
)

// Registry has the CDI devices of a node. It is not safe for concurrent use.
type Registry struct {
	dirs    []string
	files   map[string]*file
	devices map[string][]string // device nodes by the device's qualified name
}

// file is a specification file that was read. It is read again when its time or size changes: parsing a driver's YAML for every GPU
// and claim at every read costs more than the rest of attribution.
type file struct {
	mtime   time.Time
	size    int64
	devices map[string][]string
	err     error
	present bool
}

// New returns a registry of the specification files in dirs.
func New(dirs []string) *Registry {
	return &Registry{dirs: dirs, files: make(map[string]*file)}
}

// Refresh reads the files that have changed. A missing directory is not an error. If one file cannot be read, it reads the others, and
// returns why that one could not be read.
func (r *Registry) Refresh() error {
	for _, f := range r.files {
		f.present = false
	}
	var errs []error
	changed := r.devices == nil
	var order []string
	for _, dir := range r.dirs {
		names, err := list(dir)
		if err != nil {
			errs = append(errs, err)
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			f, fresh := r.read(path)
			changed = changed || fresh
			if f == nil {
				continue
			}
			f.present = true
			order = append(order, path)
			if f.err != nil {
				errs = append(errs, f.err)
			}
		}
	}
	for path, f := range r.files {
		if !f.present {
			delete(r.files, path)
			changed = true
		}
	}
	if changed {
		r.devices = make(map[string][]string)
		for _, path := range order {
			maps.Copy(r.devices, r.files[path].devices)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("read the CDI specifications: %w", err)
	}
	return nil
}

// DeviceNodes returns the paths on the host of the device nodes that a CDI device puts into a container; none for an unknown device.
func (r *Registry) DeviceNodes(device string) []string { return r.devices[device] }

// list returns the names of the specification files in a directory, in order.
func list(dir string) ([]string, error) {
	f, err := os.Open(dir) //nolint:gosec // configured
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	entries, err := f.ReadDir(maxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		switch filepath.Ext(entry.Name()) {
		case ".json", ".yaml":
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// read reads a file if it has changed. It returns nil if the file is gone.
func (r *Registry) read(path string) (f *file, fresh bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, false
	}
	f = r.files[path]
	if f != nil && f.mtime.Equal(info.ModTime()) && f.size == info.Size() {
		return f, false
	}
	f = &file{mtime: info.ModTime(), size: info.Size()}
	r.files[path] = f
	if info.Size() > maxSpec {
		f.err = fmt.Errorf("read %s: longer than %d bytes", path, maxSpec)
		return f, true
	}
	data, err := os.ReadFile(path) //nolint:gosec // in a configured directory
	if err != nil {
		f.err = err
		return f, true
	}
	if f.devices, err = parse(data); err != nil {
		f.err = fmt.Errorf("read %s: %w", path, err)
	}
	return f, true
}

// parse parses a specification in JSON or YAML. It returns the device nodes of each device by its qualified name.
func parse(data []byte) (map[string][]string, error) {
	var spec specs.Spec
	unmarshal := func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		unmarshal = json.Unmarshal
	}
	if err := unmarshal(data, &spec); err != nil {
		return nil, err
	}
	devices := make(map[string][]string, len(spec.Devices))
	for i := range spec.Devices {
		device := &spec.Devices[i]
		var nodes []string
		for _, n := range device.ContainerEdits.DeviceNodes {
			if n != nil {
				nodes = append(nodes, cmp.Or(n.HostPath, n.Path))
			}
		}
		devices[spec.Kind+"="+device.Name] = nodes
	}
	return devices, nil
}
