// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package collector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// The agent as its manifest runs it, user 0 without any capability: it can read the kubelet's socket, in a directory of root:root 0750, and
// the control groups of other users' processes.
func TestAgentNeedsNoCapability(t *testing.T) {
	t.Parallel()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || os.Getuid() != 0 {
		t.Skip("needs root and setpriv, to take capabilities away")
	}
	n := prepareWorkloads(t)
	require.NoError(t, os.Chmod(filepath.Dir(n.kubelet.Socket()), 0o750)) // as the kubelet creates it
	require.NoError(t, filepath.Walk(n.proc, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 1000, 1000)
	}))
	for _, w := range []workload{training, stowaway} { // as in /proc: readable by all
		for _, name := range []string{"", "stat", "status", "cgroup", "cmdline"} {
			require.NoError(t, os.Chmod(filepath.Join(n.proc, strconv.Itoa(w.pid()), name), 0o555))
		}
	}
	require.NoError(t, os.Chmod(n.proc, 0o555))
	n.start(shipped{
		configs: []string{"agent-kubernetes.yaml"},
		prefix:  []string{setpriv, "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs", "--"},
	})
	n.next("who holds and who uses", func(points harness.Points) bool {
		holds, _ := points.Value("container.gpu.allocated", "k8s.pod.name", training.pod)
		_, uses := points.Value("container.gpu.memory.usage", "k8s.pod.name", stowaway.pod)
		return holds == 1 && uses
	})
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.PID()))
	require.NoError(t, err)
	for _, set := range []string{"CapPrm", "CapEff", "CapBnd"} {
		assert.Contains(t, string(status), set+":\t0000000000000000", "it has a capability")
	}
	assert.NotContains(t, n.process.Output(), "permission denied")
}
