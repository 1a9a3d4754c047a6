// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// patience is the limit for a node to start; it takes 5 s on an idle machine.
const patience = 8 * time.Minute

func (n *node) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if os.Geteuid() != 0 {
		return errors.New("it needs root")
	}
	if n.Running() {
		return fmt.Errorf("it is up already: end it with `node down`, or set %s to another number", cluster.EnvIndex)
	}
	if err := n.down(false); err != nil { // remains of a node that ended without `down`
		return err
	}
	start := time.Now()
	steps := []struct {
		name string
		do   func(context.Context) error
		node bool // only with a kubelet
	}{
		{"files", n.prepare, false},
		{"namespaces", n.begin, false},
		{"images", n.images, true},
		{"API server", n.waitAPIServer, false},
		{"node ready", n.waitNode, true},
		{"service account", n.waitServiceAccount, false},
	}
	for _, step := range steps {
		if step.node && n.controlPlane {
			continue
		}
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("%s: %w\n%s", step.name, err, n.logs())
		}
		fmt.Fprintf(os.Stderr, "node: %5.1f s %s\n", time.Since(start).Seconds(), step.name)
	}
	fmt.Printf("export %s=%s KUBECONFIG=%s\n", cluster.EnvRun, n.Run(), n.Kubeconfig())
	return nil
}

// prepare writes the node's files.
func (n *node) prepare(context.Context) error {
	for _, directory := range []string{"log", "etcd", "kubelet", "pod-logs", "cni"} {
		if err := os.MkdirAll(n.Run(directory), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(n.makePKI(), n.writeConfig(), n.makeCgroups())
}

// begin starts the node's first process and connects it to the machine.
func (n *node) begin(context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.Create(n.Log("init"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	first := exec.Command(self, "init", n.Run())
	first.Stdout, first.Stderr = log, log
	first.Dir = n.Run()
	first.Env = append(os.Environ(), cluster.EnvCache+"="+n.Cache, cluster.EnvIndex+"="+strconv.Itoa(n.Index))
	if n.controlPlane {
		first.Env = append(first.Env, envControlPlane+"=1")
	}
	first.SysProcAttr = &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
	}
	if err := first.Start(); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	pid := strconv.Itoa(first.Process.Pid)
	// It starts nothing before there is a cable.
	if err := errors.Join(n.enclose(pid), os.WriteFile(n.Run("init.pid"), []byte(pid+"\n"), 0o644)); err != nil {
		_ = first.Process.Kill()
		return err
	}
	for _, args := range [][]string{
		{"link", "add", n.MachineLink(), "type", "veth", "peer", "name", n.NodeLink(), "netns", pid},
		{"address", "add", n.MachineIP() + "/30", "dev", n.MachineLink()},
		{"link", "set", n.MachineLink(), "up"},
		{"route", "add", n.PodRange(), "via", n.NodeIP()}, // so that pods reach what a test listens with
	} {
		if err := ip(args...); err != nil {
			return err
		}
	}
	return nil
}

// images imports the pause image, without which there are no pods, and lets the kubelet start.
func (n *node) images(ctx context.Context) error {
	if err := wait(ctx, func() error {
		_, err := n.Containerd(ctx, "version")
		return err
	}); err != nil {
		return err
	}
	image := cluster.Image{Name: pauseImage, Entrypoint: []string{"/pause"}, Files: []cluster.File{{Path: "/pause", From: n.Bin("pause")}}}
	if err := n.Import(ctx, &image); err != nil {
		return err
	}
	return os.WriteFile(n.Run("images-ready"), nil, 0o644)
}

func (n *node) client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", n.Kubeconfig())
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

func (n *node) waitAPIServer(ctx context.Context) error {
	client, err := n.client()
	if err != nil {
		return err
	}
	return wait(ctx, func() error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func (n *node) waitNode(ctx context.Context) error {
	client, err := n.client()
	if err != nil {
		return err
	}
	return wait(ctx, func() error {
		found, err := client.CoreV1().Nodes().Get(ctx, cluster.NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range found.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("node %s is not ready", cluster.NodeName)
	})
}

// waitServiceAccount waits until pods can be created: each needs a service account.
func (n *node) waitServiceAccount(ctx context.Context) error {
	client, err := n.client()
	if err != nil {
		return err
	}
	return wait(ctx, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

// wait tries until it succeeds.
func wait(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// logs returns the last log lines of the components, for a node that does not start.
func (n *node) logs() string {
	const last = 4
	files, _ := filepath.Glob(n.Log("*")) // the pattern is good
	var b strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(content)), "\n")
		fmt.Fprintf(&b, "%s:\n  %s\n", file, strings.Join(lines[max(0, len(lines)-last):], "\n  "))
	}
	return b.String()
}
