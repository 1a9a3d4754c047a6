// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package cdi tells which GPU is meant by the name of a Container Device Interface (CDI) device, from the specification
// files that device plugins and drivers leave on the node: by the device nodes that they put into a container. It needs
// no API.
package cdi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sigs.k8s.io/yaml"
	specs "tags.cncf.io/container-device-interface/specs-go"
)

// DefaultDirs are the places that the CDI specification names; files in the second are of running containers, and go
// before those in the first.
func DefaultDirs() []string { return []string{"/etc/cdi", "/var/run/cdi"} }

// DefaultMinors is where the NVIDIA driver tells the numbers of the device nodes that guard MIG instances.
const DefaultMinors = "/proc/driver/nvidia-caps/mig-minors"

const (
	maxSpec  = 4 << 20
	maxFiles = 2048 // of one folder: a file for each claim
)

// Registry knows the CDI devices of the node. It is not safe for concurrent use.
type Registry struct {
	dirs   []string
	minors string

	files   map[string]*file
	devices map[string][]node
	table   map[int64]instance // MIG instances by minor number
}

// file is a specification file that was read.
type file struct {
	mtime   time.Time
	size    int64
	devices map[string][]node // by qualified name
	err     error
	seen    bool
}

// New returns a registry of the specification files in dirs.
func New(dirs []string, minors string) *Registry {
	return &Registry{dirs: dirs, minors: minors, files: make(map[string]*file)}
}

// Refresh reads the files that have changed. A folder that is not there is no error. A file that cannot be read does not
// keep the others from being read.
func (r *Registry) Refresh() error {
	for _, f := range r.files {
		f.seen = false
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
			f.seen = true
			order = append(order, path)
			if f.err != nil {
				errs = append(errs, f.err)
			}
		}
	}
	for path, f := range r.files {
		if !f.seen {
			delete(r.files, path)
			changed = true
		}
	}
	if changed {
		r.devices = make(map[string][]node)
		for _, path := range order {
			maps.Copy(r.devices, r.files[path].devices)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cdi: %w", err)
	}
	return nil
}

// Device returns by which names the GPUs are known on the node that a CDI device stands for: nvidia0, nvidia0/gi1/ci0 for
// a MIG instance, card1 and renderD129 on AMD. It returns nothing for a device that is not known or has no GPU.
func (r *Registry) Device(name string) []string { return r.names(r.devices[name]) }

// list returns the names of the specification files in a folder, in order.
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

// read reads a file if it has changed; nil if it is gone.
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
		f.err = fmt.Errorf("%s: longer than %d bytes", path, maxSpec)
		return f, true
	}
	data, err := os.ReadFile(path) //nolint:gosec // in a configured folder
	if err != nil {
		f.err = err
		return f, true
	}
	if f.devices, err = parse(data); err != nil {
		f.err = fmt.Errorf("read %s: %w", path, err)
	}
	return f, true
}

// parse reads a specification in JSON or YAML.
func parse(data []byte) (map[string][]node, error) {
	var spec specs.Spec
	unmarshal := func(data []byte, into any) error { return yaml.Unmarshal(data, into) }
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		unmarshal = json.Unmarshal
	}
	if err := unmarshal(data, &spec); err != nil {
		return nil, err
	}
	devices := make(map[string][]node, len(spec.Devices))
	for i := range spec.Devices {
		device := &spec.Devices[i]
		var nodes []node
		for _, n := range device.ContainerEdits.DeviceNodes {
			if n == nil {
				continue
			}
			path := n.HostPath
			if path == "" {
				path = n.Path
			}
			if gpuNode, ok := parseNode(path); ok {
				nodes = append(nodes, gpuNode)
			}
		}
		devices[spec.Kind+"="+device.Name] = nodes
	}
	return devices, nil
}

// UUID returns the UUID that stands in a CDI device's name (nvidia.com/gpu=GPU-…), as the NVIDIA device plugin and
// container toolkit name them; nothing if there is none.
func UUID(name string) string {
	_, device, ok := strings.Cut(name, "=")
	if !ok {
		return ""
	}
	for _, prefix := range []string{"GPU-", "MIG-"} {
		if i := strings.Index(device, prefix); i >= 0 && len(device)-i == len(prefix)+36 {
			return device[i:]
		}
	}
	return ""
}
