// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

const maxPasswd = 1 << 20

// passwd maps user IDs to names by a passwd(5) file, which is read again when it has changed. The C library would be able to ask a
// directory server, for an unbounded time.
type passwd struct {
	file string

	mu    sync.Mutex
	mtime time.Time
	size  int64
	names map[uint32]string
}

// name returns the name of the user, or an empty string if the file has no name for it.
func (p *passwd) name(uid uint32) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return p.names[uid]
}

func (p *passwd) refresh() {
	if p.file == "" {
		return
	}
	info, err := os.Stat(p.file)
	if err != nil {
		p.names, p.mtime = nil, time.Time{}
		return
	}
	if p.names != nil && info.ModTime().Equal(p.mtime) && info.Size() == p.size {
		return
	}
	data, err := readBounded(p.file, maxPasswd)
	if err != nil {
		return
	}
	p.names, p.mtime, p.size = parsePasswd(data), info.ModTime(), info.Size()
}

// parsePasswd parses lines of the form name:password:uid:…. The first name of a user ID counts, as for getpwuid(3).
func parsePasswd(data []byte) map[uint32]string {
	names := make(map[uint32]string)
	for line := range bytes.Lines(data) {
		fields := bytes.SplitN(line, []byte{':'}, 4)
		if len(fields) < 4 || len(fields[0]) == 0 || fields[0][0] == '#' {
			continue
		}
		uid, err := strconv.ParseUint(string(fields[2]), 10, 32)
		if err != nil {
			continue
		}
		if _, ok := names[uint32(uid)]; !ok {
			names[uint32(uid)] = gpu.CleanText(string(fields[0]))
		}
	}
	return names
}

// defaultPasswd returns the passwd file next to the process table, or "" if that file is not the machine's.
func defaultPasswd(root string, inContainer func() bool) string {
	if root == defaultRoot && inContainer() {
		return ""
	}
	return filepath.Join(filepath.Dir(root), "etc", "passwd")
}

// inContainer reports whether this process has other files than the machine: whether there are traces of Kubernetes, Docker or Podman.
func inContainer() bool {
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		return true
	}
	for _, file := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Lstat(file); err == nil {
			return true
		}
	}
	return false
}
