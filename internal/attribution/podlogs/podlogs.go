// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package podlogs reads the names and IDs of pods and containers from the names of the log files that the kubelet keeps on its node. It
// opens no log.
package podlogs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// DefaultPath is the directory of the kubelet's logs.
const DefaultPath = "/var/log"

const (
	// maxNames bounds how many names of one directory are read. A node has some dozen containers for each of its pods.
	maxNames = 16384
	// settle is how long after a change a directory is read again although its modification time is the same: clocks of file systems
	// are coarse, and another change within a tick is invisible.
	settle = 100 * time.Millisecond
)

// Pod names a pod.
type Pod struct{ Namespace, Name string }

// Container names a container.
type Container struct {
	Pod
	Name string
}

// Dirs reads <path>/pods, with directories <namespace>_<pod>_<uid>, and <path>/containers, with links
// <pod>_<namespace>_<container>-<id>.log to <directory of the pod>/<container>/<restart>.log. It is not safe for concurrent use.
//
// The kubelet keeps the last instance of a container beside the current one, and for a while the pods that are gone. A name with two
// instances is therefore not resolved.
type Dirs struct {
	pods, containers directory

	byUID map[string]Pod
	uids  map[Pod][]string
	byID  map[string]Container
	ids   map[Container][]string // file names
}

// New returns a reader of the logs' directories below path.
func New(path string) *Dirs {
	return &Dirs{
		pods:       directory{path: filepath.Join(path, "pods"), now: time.Now},
		containers: directory{path: filepath.Join(path, "containers"), now: time.Now},
	}
}

// Refresh reads the directories that have changed. A missing directory is not an error; its names are unknown.
func (d *Dirs) Refresh() error {
	names, changed, err1 := d.pods.read()
	if changed {
		d.setPods(names)
	}
	names, changed, err2 := d.containers.read()
	if changed {
		d.setContainers(names)
	}
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("read the names of pods and containers from the kubelet's log directories: %w", err)
	}
	return nil
}

func (d *Dirs) setPods(names []string) {
	d.byUID = make(map[string]Pod, len(names))
	d.uids = make(map[Pod][]string, len(names))
	for _, name := range names {
		if pod, uid, ok := parsePodDir(name); ok {
			d.byUID[uid] = pod
			d.uids[pod] = append(d.uids[pod], uid)
		}
	}
}

func (d *Dirs) setContainers(names []string) {
	d.byID = make(map[string]Container, len(names))
	d.ids = make(map[Container][]string, len(names))
	for _, name := range names {
		if container, id, ok := parseLink(name); ok {
			d.byID[id] = container
			d.ids[container] = append(d.ids[container], name)
		}
	}
}

// Pod returns the pod with a UID.
func (d *Dirs) Pod(uid string) (Pod, bool) {
	pod, ok := d.byUID[uid]
	return pod, ok
}

// UID returns the UID of a pod, if only one pod has its name.
func (d *Dirs) UID(pod Pod) (string, bool) {
	if uids := d.uids[pod]; len(uids) == 1 {
		return uids[0], true
	}
	return "", false
}

// Container returns the container with an ID.
func (d *Dirs) Container(id string) (Container, bool) {
	container, ok := d.byID[id]
	return container, ok
}

// ID returns the ID of the newest instance of a container, if only one container has its name.
func (d *Dirs) ID(container Container) (string, bool) {
	files := d.ids[container]
	switch len(files) {
	case 0:
		return "", false
	case 1:
		_, id, ok := parseLink(files[0])
		return id, ok
	}
	var newest string
	var pod string
	last := -1
	for _, file := range files {
		target, err := os.Readlink(filepath.Join(d.containers.path, file))
		if err != nil {
			return "", false
		}
		targetPod, restart, ok := parseTarget(target)
		if !ok || (pod != "" && targetPod != pod) || restart == last {
			return "", false
		}
		pod = targetPod
		if restart > last {
			last = restart
			_, newest, _ = parseLink(file)
		}
	}
	return newest, newest != ""
}

// UIDOf returns the UID of a container's pod. If several pods have the pod's name, it is the one with the container's log file: an earlier
// pod may still have a directory, but no files of its containers.
func (d *Dirs) UIDOf(container Container) (string, bool) {
	if uid, ok := d.UID(container.Pod); ok {
		return uid, true
	}
	var found string
	for _, file := range d.ids[container] {
		target, err := os.Readlink(filepath.Join(d.containers.path, file))
		if err != nil {
			return "", false
		}
		directory, _, ok := parseTarget(target)
		if !ok || (found != "" && directory != found) {
			return "", false
		}
		found = directory
	}
	pod, uid, ok := parsePodDir(found)
	return uid, ok && pod == container.Pod
}

// parsePodDir parses <namespace>_<pod>_<uid>. None of them can contain an underscore.
func parsePodDir(name string) (Pod, string, bool) {
	parts := strings.Split(name, "_")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return Pod{}, "", false
	}
	return Pod{Namespace: parts[0], Name: parts[1]}, parts[2], true
}

// parseLink parses <pod>_<namespace>_<container>-<id>.log.
func parseLink(name string) (Container, string, bool) {
	base, ok := strings.CutSuffix(name, ".log")
	if !ok {
		return Container{}, "", false
	}
	parts := strings.Split(base, "_")
	if len(parts) != 3 {
		return Container{}, "", false
	}
	i := strings.LastIndexByte(parts[2], '-')
	if i <= 0 || len(parts[2])-i-1 != 64 || parts[0] == "" || parts[1] == "" {
		return Container{}, "", false
	}
	return Container{Pod: Pod{Namespace: parts[1], Name: parts[0]}, Name: parts[2][:i]}, parts[2][i+1:], true
}

// parseTarget parses …/<directory of the pod>/<container>/<restart>.log.
func parseTarget(target string) (pod string, restart int, ok bool) {
	number, ok := strings.CutSuffix(filepath.Base(target), ".log")
	if !ok {
		return "", 0, false
	}
	restart, err := strconv.Atoi(number)
	if err != nil || restart < 0 {
		return "", 0, false
	}
	return filepath.Base(filepath.Dir(filepath.Dir(target))), restart, true
}

// directory reads the names in a directory when the directory has changed: a full one has 16384 names.
type directory struct {
	path     string
	now      func() time.Time
	changed  time.Time // the modification time when it was read
	lastRead time.Time
	there    bool
}

func (f *directory) read() (names []string, changed bool, err error) {
	info, err := os.Stat(f.path)
	if err != nil {
		changed = f.there
		f.there = false
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, changed, err
	}
	now := f.now()
	if f.there && info.ModTime().Equal(f.changed) && f.lastRead.Sub(f.changed) > settle {
		return nil, false, nil
	}
	dir, err := os.Open(f.path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = dir.Close() }()
	names, err = dir.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	f.there, f.changed, f.lastRead = true, info.ModTime(), now
	return names, true, nil
}
