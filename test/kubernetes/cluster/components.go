// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The components of a node.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
	Containerd        = "containerd"
)

// InitPID is the machine's PID of the node's first process. The process may have ended.
func (l Layout) InitPID() (int, error) {
	text, err := os.ReadFile(l.Run("init.pid"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// Running reports whether the node is up.
func (l Layout) Running() bool {
	pid, err := l.InitPID()
	if err != nil {
		return false
	}
	// The PID may have been reused by another process.
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && bytes.Contains(line, []byte("\x00init\x00")) && bytes.Contains(line, []byte(l.Run()))
}

// Component is the machine's PID of a component's process.
func (l Layout) Component(name string) (int, error) {
	initPID, err := l.InitPID()
	if err != nil {
		return 0, err
	}
	directories, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return 0, err
	}
	for _, directory := range directories {
		stat, err := os.ReadFile(filepath.Join(directory, "stat"))
		if err != nil {
			continue // it has ended
		}
		// The name is in brackets and may itself have some.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 2 || fields[1] != strconv.Itoa(initPID) {
			continue
		}
		line, err := os.ReadFile(filepath.Join(directory, "cmdline"))
		program, _, _ := bytes.Cut(line, []byte{0})
		if err == nil && filepath.Base(string(program)) == name {
			return strconv.Atoi(filepath.Base(directory))
		}
	}
	return 0, fmt.Errorf("no %s runs in the node", name)
}

// Signal sends a signal to a component: SIGSTOP freezes it, SIGCONT resumes it. A component that ends is restarted immediately.
func (l Layout) Signal(component string, signal syscall.Signal) error {
	pid, err := l.Component(component)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}
