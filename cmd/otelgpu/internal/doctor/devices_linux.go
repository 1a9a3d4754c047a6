// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxDeviceNodes bounds what is listed. A node with 16 GPUs and all their MIG instances has some 500.
const maxDeviceNodes = 1000

// deviceNodes lists the device nodes of the drivers of GPUs. Nothing is opened: that could wake a GPU.
func deviceNodes() []deviceNode {
	var nodes []deviceNode
	for _, pattern := range []string{"/dev/nvidia*", "/dev/nvidia-caps/*", "/dev/kfd", "/dev/dri/card*", "/dev/dri/renderD*"} {
		paths, _ := filepath.Glob(pattern) // the patterns are valid
		for _, path := range paths {
			info, err := os.Lstat(path)
			if err != nil || info.IsDir() {
				continue
			}
			if len(nodes) == maxDeviceNodes {
				return nodes
			}
			nodes = append(nodes, describeNode(path, info))
		}
	}
	return nodes
}

func describeNode(path string, info os.FileInfo) deviceNode {
	n := deviceNode{path: path, mode: info.Mode().String(), access: "can be opened"}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		n.owner = fmt.Sprintf("%d:%d", stat.Uid, stat.Gid)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.R_OK|unix.W_OK, unix.AT_EACCESS); err != nil {
		n.access = fmt.Sprintf("cannot be opened to read and write (%v)", err)
	}
	return n
}

// addDeviceNodes lists the device nodes, those that are alike in one line. Whether a source can do without is the source's to say.
func (s *Section) addDeviceNodes() {
	type kind struct{ mode, owner, access string }
	var order []kind
	paths := map[kind][]string{}
	for _, n := range deviceNodes() {
		k := kind{n.mode, n.owner, n.access}
		if paths[k] == nil {
			order = append(order, k)
		}
		paths[k] = append(paths[k], n.path)
	}
	if len(order) == 0 {
		s.add(Note, "device nodes", "/dev contains no device node of a GPU; in a container, the runtime mounts them")
	}
	for _, k := range order {
		named := strings.Join(paths[k][:min(len(paths[k]), maxNamed)], " ")
		if more := len(paths[k]) - maxNamed; more > 0 {
			named += fmt.Sprintf(" and %d more", more)
		}
		s.add(Note, "device nodes", fmt.Sprintf("%s: %s %s, %s", named, k.mode, k.owner, k.access))
	}
}
