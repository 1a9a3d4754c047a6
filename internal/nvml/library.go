// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux && cgo

package nvml

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"
)

const libraryName = "libnvidia-ml.so.1"

// places are where the library is looked for where no path is configured: the loader's own search first, which is where
// NVIDIA's container runtime puts it, then GKE, WSL, and the GPU operator's driver container.
var places = [...]string{
	libraryName,
	"/usr/local/nvidia/lib64/" + libraryName,
	"/usr/lib/wsl/lib/" + libraryName,
	"/run/nvidia/driver/usr/lib/x86_64-linux-gnu/" + libraryName,
	"/run/nvidia/driver/usr/lib/aarch64-linux-gnu/" + libraryName,
	"/run/nvidia/driver/usr/lib64/" + libraryName,
}

// library is a loaded libnvidia-ml that was found to be one. It is never unloaded: functions of it stay bound in this
// process, and a call that hangs may return at any time. The binding has it once, as the process does: all sources share it.
type library struct {
	path   string // under which it was looked for
	has    [numFunctions]bool
	direct direct

	file  string      // that was loaded, as the kernel names it
	stamp os.FileInfo // what it was then
}

// openLibrary loads the library and looks at what it exports, without calling any of it.
func openLibrary(configured string) (*library, error) {
	paths := places[:]
	if configured != "" {
		paths = []string{configured}
	}
	var tried []error
	for _, path := range paths {
		lib, err := load(path)
		if err == nil {
			return lib, nil
		}
		tried = append(tried, err)
	}
	return nil, fmt.Errorf("nvml: no usable %s; install the NVIDIA driver, or let the container runtime mount it "+
		"(NVIDIA_VISIBLE_DEVICES=all, NVIDIA_DRIVER_CAPABILITIES=utility), or set library_path: %w",
		libraryName, errors.Join(tried...))
}

// errAnother: the process has a library already, and it is another one.
var errAnother = errors.New("restart the collector: this process has loaded another " + libraryName +
	", which cannot be unloaded, and calls would go to either of the two")

func load(path string) (*library, error) {
	// First without letting its symbols be seen by others, for it may be anything.
	probe := dl.New(path, dl.RTLD_LAZY|dl.RTLD_LOCAL)
	if before, there := mappedFile(); before != "" && filepath.IsAbs(path) && (!there || !sameFile(path, before)) {
		return nil, fmt.Errorf("%s: %w (%s)", path, errAnother, before)
	}
	if err := probe.Open(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}
	defer func() { _ = probe.Close() }()
	has := available(probe.Lookup)
	for _, f := range essential {
		if !has[f] {
			return nil, fmt.Errorf("%s is not NVIDIA's management library: it does not export %s", path,
				strings.Join(symbols[f][1:], " or "))
		}
	}
	handle := dl.New(path, dl.RTLD_LAZY|dl.RTLD_GLOBAL|dl.RTLD_NODELETE)
	if err := handle.Open(); err != nil {
		return nil, fmt.Errorf("load: %w", err)
	}

	// The binding loads the library anew whenever it initialises it. By its bare name it gets the one that is loaded,
	// even where another has come to lie at the path.
	bound := path
	if again := dl.New(libraryName, dl.RTLD_LAZY|dl.RTLD_NOLOAD); again.Open() == nil {
		_ = again.Close()
		bound = libraryName
	}
	// It refuses where it is initialised already: then it has the library, for there is no other.
	_ = gonvml.SetLibraryOptions(gonvml.WithLibraryPath(bound))
	lib := &library{path: path, has: has, direct: findDirect(bound)}
	lib.direct.confine(&lib.has)
	if lib.file = path; !filepath.IsAbs(path) {
		lib.file, _ = mappedFile()
	}
	lib.stamp, _ = os.Stat(lib.file)
	return lib, nil
}

func (l *library) init() code { return code(gonvml.Init()) }

// shutdown ends what init began. Where it fails there is nothing left to end.
func (l *library) shutdown() { _ = gonvml.Shutdown() }

// replaced tells whether another file, or none, has come to lie where the library was loaded from.
func (l *library) replaced() bool {
	if l.stamp == nil {
		return false
	}
	now, err := os.Stat(l.file)
	return err != nil || !os.SameFile(l.stamp, now)
}

func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return true // whoever loads it says what is wrong
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// mappedFile finds the libnvidia-ml that is mapped into this process; empty: there is none. It tells whether the file is still
// there, for another may lie where it was.
func mappedFile() (path string, there bool) {
	maps, err := readSmall("/proc/self/maps", 16<<20)
	if err != nil {
		return "", false
	}
	stem, _, _ := strings.Cut(libraryName, ".so")
	for line := range strings.Lines(maps) {
		// address, permissions, offset, device, inode, path; "(deleted)" after it where the file is no more
		if fields := strings.Fields(line); len(fields) >= 6 && strings.HasPrefix(filepath.Base(fields[5]), stem+".so") {
			return fields[5], len(fields) == 6
		}
	}
	return "", false
}
