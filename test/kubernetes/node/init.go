// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// envControlPlane is set for a node without a kubelet.
const envControlPlane = "E2E_CONTROL_PLANE"

// initialise is the node's first process, in namespaces of its own. Only the PID namespace is the machine's: a pod with hostPID sees the
// machine's process table, as on a real node.
func initialise(controlPlane bool) error {
	layout, err := cluster.LayoutFromEnv()
	if err != nil {
		return err
	}
	n := &node{Layout: layout, controlPlane: controlPlane}
	// Orphans of pods and of the container runtime are reparented to this process, not to the machine's first.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	if err := unix.Sethostname([]byte(cluster.NodeName)); err != nil {
		return fmt.Errorf("set the host's name: %w", err)
	}
	if err := n.mounts(); err != nil {
		return err
	}
	if err := n.network(); err != nil {
		return err
	}
	path := os.Getenv("PATH")
	if err := os.Setenv("PATH", n.Bin("")+":"+path); err != nil { // containerd looks for its shim there
		return err
	}
	s := &supervisor{node: n, running: make(map[int]component)}
	for _, c := range n.components() {
		go s.start(c)
	}
	return s.reap()
}

// mounts gives the node a /run, /var/lib and /var/log of its own, so that pods find what they expect at its usual
// path and the machine's stay as they are.
func (n *node) mounts() error {
	mount := func(source, target, kind string, flags uintptr) error {
		if err := unix.Mount(source, target, kind, flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", source, target, err)
		}
		return nil
	}
	err := errors.Join(
		mount("", "/", "", unix.MS_REC|unix.MS_SLAVE),
		mount("", "/", "", unix.MS_REC|unix.MS_SHARED), // the kubelet's mounts are to be seen in containers
		mount("tmpfs", "/run", "tmpfs", 0),
		mount("tmpfs", "/var/lib", "tmpfs", 0),
		mount("tmpfs", "/var/log", "tmpfs", 0),
		os.MkdirAll("/var/lib/kubelet", 0o750),
		os.MkdirAll("/var/log/pods", 0o755),
	)
	if err != nil {
		return err
	}
	err = errors.Join(
		mount(n.Kubelet(), "/var/lib/kubelet", "", unix.MS_BIND),
		mount(n.Run("pod-logs"), "/var/log/pods", "", unix.MS_BIND),
	)
	// These settings apply to the whole machine. The kubelet sets them unless they already have its values, so they get these values here.
	for name, value := range map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	} {
		shown := n.Run("sysctl-" + strings.ReplaceAll(name, "/", "-"))
		err = errors.Join(err, os.WriteFile(shown, []byte(value+"\n"), 0o644), mount(shown, "/proc/sys/"+name, "", unix.MS_BIND))
	}
	return err
}

// network sets up the node's end of the cable to the machine, and the address of the API server's service. With a single API server,
// kube-proxy is not needed.
func (n *node) network() error {
	if err := ip("link", "set", "lo", "up"); err != nil {
		return err
	}
	if err := ip("address", "add", cluster.ServiceIP+"/32", "dev", "lo"); err != nil {
		return err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if err := ip("address", "add", n.NodeIP()+"/30", "dev", n.NodeLink()); err == nil {
			break
		} else if time.Now().After(end) {
			return err
		}
	}
	return errors.Join(
		ip("link", "set", n.NodeLink(), "up"),
		ip("route", "add", "default", "via", n.MachineIP()),
		os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644),
	)
}

func ip(args ...string) error {
	if output, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// supervisor keeps the components running.
type supervisor struct {
	node *node

	mu      sync.Mutex
	running map[int]component
}

func (s *supervisor) start(c component) {
	for c.after != "" {
		if _, err := os.Stat(c.after); err == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	// The lock is held until the process is recorded, since it may end immediately.
	s.mu.Lock()
	defer s.mu.Unlock()
	log, err := os.OpenFile(s.node.Log(c.name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, "node:", err)
		return
	}
	defer func() { _ = log.Close() }()
	program := s.node.Bin(c.name)
	process, err := os.StartProcess(program, append([]string{program}, c.args...), &os.ProcAttr{
		Files: []*os.File{nil, log, log}, Dir: s.node.Run(),
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "node: start %s: %v\n", c.name, err)
		return
	}
	s.running[process.Pid] = c
	_ = process.Release() // reap waits for it
}

// reap collects the exit codes of all processes that end in the node, and restarts components.
func (s *supervisor) reap() error {
	const pause = 500 * time.Millisecond
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		if err != nil {
			time.Sleep(pause / 10) // there is no child yet, or a signal came
			continue
		}
		s.mu.Lock()
		c, ok := s.running[pid]
		delete(s.running, pid)
		s.mu.Unlock()
		if !ok {
			continue
		}
		fmt.Fprintf(os.Stderr, "node: %s %s ended: exit code %d, signal %d\n", c.name, strconv.Itoa(pid), status.ExitStatus(), status.Signal())
		time.AfterFunc(pause, func() { s.start(c) })
	}
}
