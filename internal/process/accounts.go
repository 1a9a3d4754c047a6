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
)

const maxPasswd = 1 << 20

// accounts gives names to user ids from a passwd(5) file, which is read again when it changes. The C library is not
// asked: it may ask a directory server, without a bound.
type accounts struct {
	file string

	mu    sync.Mutex
	mtime time.Time
	size  int64
	names map[uint32]string
}

// name is the user's name, or its number where the file has none.
func (a *accounts) name(uid uint32) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refresh()
	if name, ok := a.names[uid]; ok {
		return name
	}
	return strconv.FormatUint(uint64(uid), 10)
}

func (a *accounts) refresh() {
	if a.file == "" {
		return
	}
	info, err := os.Stat(a.file)
	if err != nil {
		a.names, a.mtime = nil, time.Time{}
		return
	}
	if a.names != nil && info.ModTime().Equal(a.mtime) && info.Size() == a.size {
		return
	}
	data, err := readBounded(a.file, maxPasswd)
	if err != nil {
		return
	}
	a.names, a.mtime, a.size = parsePasswd(data), info.ModTime(), info.Size()
}

// parsePasswd reads name:password:uid:… lines; the first name of a number counts, as it does for getpwuid(3).
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
			names[uint32(uid)] = text(fields[0])
		}
	}
	return names
}

// defaultPasswd is the machine's passwd file beside its process table, if it is the machine's.
func defaultPasswd(root string, inContainer func() bool) string {
	if root == defaultRoot && inContainer() {
		return ""
	}
	return filepath.Join(filepath.Dir(root), "etc", "passwd")
}

// inContainer tells whether this process has other files than the machine, by what Kubernetes, Docker and Podman leave in
// a container.
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
