// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The environment of a test on a cluster.
const (
	// EnvRun is the directory of a running node. Without it the tests skip.
	EnvRun = "E2E_RUN"
	// EnvIndex numbers the clusters of one machine, 0 to 99. Everything that could conflict between two clusters depends on it.
	EnvIndex = "E2E_INDEX"
	// EnvCache is the directory of the programs that build.sh makes, and of the nodes.
	EnvCache = "E2E_CACHE"
	// EnvImage is the archive of the collector's image, as scripts/image.sh writes it.
	EnvImage = "OTELCOL_GPU_IMAGE"
)

// NodeName is the name of the node.
const NodeName = "node-a"

// ServiceIP is the address of the API server in the cluster: the first of the services' range.
const ServiceIP = "10.96.0.1"

const maxIndex = 99

// Layout contains the paths and addresses of a node.
type Layout struct {
	Index int
	Cache string // absolute
}

// NewLayout returns the layout of the node with an index, below a cache directory.
func NewLayout(cache string, index int) (Layout, error) {
	if index < 0 || index > maxIndex {
		return Layout{}, fmt.Errorf("%s must be from 0 to %d, got %d", EnvIndex, maxIndex, index)
	}
	cache, err := filepath.Abs(cache)
	if err != nil {
		return Layout{}, err
	}
	for _, hidden := range []string{"/run/", "/var/lib/", "/var/log/", "/proc/", "/sys/"} {
		if strings.HasPrefix(cache+"/", hidden) {
			return Layout{}, fmt.Errorf("%s must not be below %s: the node mounts one of its own there", cache, hidden)
		}
	}
	l := Layout{Index: index, Cache: cache}
	if longest := l.Run("containerd.sock.ttrpc"); len(longest) > 107 {
		return Layout{}, fmt.Errorf("%s is too long for the address of a socket: move the checkout, or set %s", longest, EnvCache)
	}
	return l, nil
}

// LayoutFromEnv returns the layout that the environment names.
func LayoutFromEnv() (Layout, error) {
	cache := os.Getenv(EnvCache)
	if cache == "" {
		return Layout{}, errors.New(EnvCache + " is not set")
	}
	index := 0
	if text := os.Getenv(EnvIndex); text != "" {
		var err error
		if index, err = strconv.Atoi(text); err != nil {
			return Layout{}, fmt.Errorf("%s: %w", EnvIndex, err)
		}
	}
	return NewLayout(cache, index)
}

// FromEnv returns the layout of the running node that the environment names.
func FromEnv() (Layout, error) {
	run := os.Getenv(EnvRun)
	number, ok := strings.CutPrefix(filepath.Base(run), "run")
	index, err := strconv.Atoi(number)
	if !ok || err != nil {
		return Layout{}, fmt.Errorf("%s: %s is no folder of a node", EnvRun, run)
	}
	return NewLayout(filepath.Dir(run), index)
}

// Bin returns the path of a program.
func (l Layout) Bin(name string) string { return filepath.Join(l.Cache, "bin", name) }

// Run returns the path of a file of the running node. It is the same on the machine and in the node.
func (l Layout) Run(elements ...string) string {
	return filepath.Join(append([]string{l.Cache, "run" + strconv.Itoa(l.Index)}, elements...)...)
}

// PKI is a certificate, a key or a kubeconfig.
func (l Layout) PKI(name string) string { return l.Run("pki", name) }

// Kubeconfig returns the path of the cluster administrator's kubeconfig. It works on the machine and in the node.
func (l Layout) Kubeconfig() string { return l.PKI("admin.kubeconfig") }

// Log returns the path of a component's log.
func (l Layout) Log(component string) string { return l.Run("log", component+".log") }

// Kubelet returns the path, on the machine, of a file below the node's /var/lib/kubelet: pod-resources/kubelet.sock,
// device-plugins/kubelet.sock.
func (l Layout) Kubelet(elements ...string) string {
	return l.Run(append([]string{"kubelet"}, elements...)...)
}

// ContainerdSocket is the address of the container runtime.
func (l Layout) ContainerdSocket() string { return l.Run("containerd.sock") }

// MachineIP is the machine's address as the node and its pods see it.
func (l Layout) MachineIP() string { return fmt.Sprintf("10.222.%d.1", l.Index) }

// NodeIP is the address of the node and of the API server.
func (l Layout) NodeIP() string { return fmt.Sprintf("10.222.%d.2", l.Index) }

// PodRange is the address range of the pods.
func (l Layout) PodRange() string { return fmt.Sprintf("10.245.%d.0/24", l.Index) }

// Cgroup is the parent control group of all pods of the node.
func (l Layout) Cgroup() string { return fmt.Sprintf("gpureceiver-e2e-%d", l.Index) }

// MachineLink and NodeLink are the two ends of the cable between the machine and the node.
func (l Layout) MachineLink() string { return fmt.Sprintf("gpu-e2e-%d-m", l.Index) }

// NodeLink is the node's end.
func (l Layout) NodeLink() string { return fmt.Sprintf("gpu-e2e-%d-n", l.Index) }
