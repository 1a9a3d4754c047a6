// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The node's processes are identified by their control groups: one contains the processes of its components, others beside it the processes
// of its pods.

// roots are the hierarchies of control groups: the one of version 2, or the hierarchies of version 1.
func roots() ([]string, error) {
	const all = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(all, "cgroup.controllers")); err == nil {
		return []string{all}, nil
	}
	return filepath.Glob(filepath.Join(all, "*"))
}

// componentsGroup is the control group of the components, in one hierarchy.
func (n *node) componentsGroup(roots []string) string {
	root := roots[0]
	if i := slices.IndexFunc(roots, func(r string) bool { return filepath.Base(r) == "pids" }); i >= 0 {
		root = roots[i]
	}
	return filepath.Join(root, n.Cgroup(), "components")
}

// makeCgroups makes the control groups that the components' and the kubelet's are in.
func (n *node) makeCgroups() error {
	all, err := roots()
	if err != nil || len(all) == 0 {
		return fmt.Errorf("this machine lacks control groups: %w", err)
	}
	for _, root := range all {
		own := filepath.Join(root, n.Cgroup())
		if err := os.MkdirAll(own, 0o755); err != nil {
			return err
		}
		if filepath.Base(root) == "cpuset" { // version 1 starts with none
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				value, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(own, file), value, 0o644); err != nil {
					return err
				}
			}
		}
		controllers, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		if err != nil || len(all) > 1 {
			continue
		}
		for _, directory := range []string{root, own} { // version 2 hands down none by itself
			for controller := range strings.FieldsSeq(string(controllers)) {
				_ = os.WriteFile(filepath.Join(directory, "cgroup.subtree_control"), []byte("+"+controller), 0o644) // the kubelet reports missing ones
			}
		}
	}
	return os.MkdirAll(n.componentsGroup(all), 0o755)
}

// enclose puts a process and its descendants into the components' control group.
func (n *node) enclose(pid string) error {
	all, err := roots()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(n.componentsGroup(all), "cgroup.procs"), []byte(pid), 0o644)
}

// groups returns the node's control groups, children before parents.
func (n *node) groups() ([]string, error) {
	all, err := roots()
	if err != nil {
		return nil, err
	}
	var directories []string
	for _, root := range all {
		_ = filepath.WalkDir(filepath.Join(root, n.Cgroup()), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				directories = append(directories, path)
			}
			return nil // a removed one is fine
		})
	}
	slices.Reverse(directories)
	return directories, nil
}

// end kills all processes of the node, its first one first, and removes its control groups.
func (n *node) end() error {
	if n.Running() {
		pid, err := n.InitPID()
		if err != nil {
			return err
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			return err
		}
	}
	const patience = 20 * time.Second
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		groups, err := n.groups()
		if err != nil {
			return err
		}
		var rest []string
		for _, group := range groups {
			if syscall.Rmdir(group) == nil {
				continue
			}
			rest = append(rest, group)
			processes, _ := os.ReadFile(filepath.Join(group, "cgroup.procs")) // gone: tried again
			for number := range strings.FieldsSeq(string(processes)) {
				if pid, err := strconv.Atoi(number); err == nil && pid > 1 {
					_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
				}
			}
		}
		switch {
		case len(rest) == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("what does not end within %s is in %v", patience, rest)
		}
	}
}
