// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package library

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"

	"github.com/otelgpu/gpureceiver/internal/command"
)

const libraryName = "libnvidia-ml.so.1"

// defaultPaths are searched if no path is configured: the loader's own search first, which finds the library of NVIDIA's container runtime,
// then GKE, WSL, and the GPU operator's driver container.
var defaultPaths = [...]string{
	libraryName,
	"/usr/local/nvidia/lib64/" + libraryName,
	"/usr/lib/wsl/lib/" + libraryName,
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" + libraryName,
	"/run/nvidia/driver/usr/lib/aarch64-linux-gnu/" + libraryName,
	"/run/nvidia/driver/usr/lib64/" + libraryName,
}

// ErrOtherLoaded is returned if the process has loaded another library already.
var ErrOtherLoaded = errors.New("restart the collector: this process has loaded another " + libraryName +
	", which cannot be unloaded, and calls would go to either of the two")

// Loader loads the library. It remembers the files that it saw, to know which of them change. The zero Loader is ready to use.
type Loader struct {
	files fileChecker
}

// Load loads the library at a path, or in its usual places if the path is empty, and checks what it exports without calling it.
func (l *Loader) Load(configured string) (*Library, error) {
	paths := defaultPaths[:]
	if configured != "" {
		paths = []string{configured}
	}
	var tried []error
	for _, path := range paths {
		lib, err := l.load(path)
		if err == nil {
			return lib, nil
		}
		if configured != "" || !isMissing(path, err) {
			tried = append(tried, err)
		}
	}
	remedy := "install the NVIDIA driver, or set library_path; in a container, set NVIDIA_VISIBLE_DEVICES=all and NVIDIA_DRIVER_CAPABILITIES=utility"
	if configured != "" {
		remedy = "set library_path to another file, or leave it out to search the usual places"
	}
	if len(tried) > 0 {
		return nil, fmt.Errorf("nvml: no usable %s: %w; %s", libraryName, errors.Join(tried...), remedy)
	}
	return nil, fmt.Errorf("nvml: no usable %s; %s", libraryName, remedy)
}

// isMissing reports whether the loader has found no file at all at a path: a library that the file needs may be missing as well.
func isMissing(path string, err error) bool {
	return strings.HasPrefix(err.Error(), "load: "+path+": cannot open shared object file: No such file or directory")
}

func (l *Loader) load(path string) (*Library, error) {
	loaded, exists := mappedFile()
	if loaded != "" && filepath.IsAbs(path) && (!exists || !sameFile(path, loaded)) {
		return nil, fmt.Errorf("%s: %w (%s)", path, ErrOtherLoaded, loaded)
	}
	if loaded == "" { // what is loaded is not mapped again
		if err := l.check(path); err != nil {
			return nil, err
		}
	}
	// The file may be anything: first see what it exports without letting others use it.
	probe := dl.New(path, dl.RTLD_LAZY|dl.RTLD_LOCAL)
	if err := probe.Open(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer func() { _ = probe.Close() }()
	if err := checkExports(path, probe.Lookup); err != nil {
		return nil, err
	}
	handle := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL|dl.RTLD_NODELETE)
	if err := handle.Open(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}

	// The binding loads the library again whenever it initialises it. By its bare name it gets the loaded library, even if another one is
	// at the path by then.
	name := path
	if again := dl.New(libraryName, dl.RTLD_LAZY|dl.RTLD_NOLOAD); again.Open() == nil {
		_ = again.Close()
		name = libraryName
	}
	loadFrom(name)
	lib := &Library{Path: path, File: path, symbols: newSymbols(name)}
	if !filepath.IsAbs(path) {
		lib.File, _ = mappedFile()
	}
	lib.stamp, _ = os.Stat(lib.File)
	return lib, nil
}

// check returns an error if the file that the loader would map could end the process, or if others than root and the collector's user could
// replace it.
func (l *Loader) check(path string) error {
	if !strings.Contains(path, "/") {
		return defaultSearch.check(&l.files, path)
	}
	if err := command.CheckSafe(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := l.files.check(path); err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOtherABI) {
		return err
	}
	return nil // or the loader returns a better error
}

// checkExports returns an error if a library is not NVML. lookUp returns an error for a symbol that the library lacks.
func checkExports(path string, lookUp func(symbol string) error) error {
	for _, f := range essential {
		found := false
		for _, symbol := range f.Symbols {
			found = found || lookUp(symbol) == nil
		}
		if !found {
			return fmt.Errorf("%s is not NVIDIA's management library: it does not export %s", path, strings.Join(f.Symbols, " or "))
		}
	}
	return nil
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return true // loading it returns a better error
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

const maxMapsSize = 16 << 20

// mappedFile returns the libnvidia-ml that is mapped into this process, empty for none, and whether the file still exists: another one
// may be at its path.
func mappedFile() (path string, exists bool) {
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return "", false
	}
	defer func() { _ = maps.Close() }()
	text, err := io.ReadAll(io.LimitReader(maps, maxMapsSize))
	if err != nil {
		return "", false
	}
	stem, _, _ := strings.Cut(libraryName, ".so")
	for line := range strings.Lines(string(text)) {
		// address, permissions, offset, device, inode, path; "(deleted)" after it if the file no longer exists
		if fields := strings.Fields(line); len(fields) >= 6 && strings.HasPrefix(filepath.Base(fields[5]), stem+".so") {
			return fields[5], len(fields) == 6
		}
	}
	return "", false
}
