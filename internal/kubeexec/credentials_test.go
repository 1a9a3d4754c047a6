// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: c
contexts:
- {name: c, context: {cluster: c, user: u}}
clusters:
- {name: c, cluster: {server: %q, certificate-authority: %q}}
users:
- name: u
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: Never
      command: sh
      args:
      - -c
      - |
        cd %q || exit
        if mkdir begun 2>/dev/null; then
          echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "first"}}'
          exit
        fi
        while [ -e begun ]; do sleep 0.02; done
`

// The credential program of the kubeconfig hangs when its output is no longer read: the reads end and are reported as failures, the problem
// is reported, and shutdown does not wait for the program. The program ends when the test's directory is removed.
func TestCredentialsHang(t *testing.T) {
	s := exectest.NewServer(t)
	s.Add("n1", &exectest.Machine{UUID: "GPU-1"})
	s.Write("kubeconfig", fmt.Sprintf(kubeconfig, s.URL, filepath.Join(s.Dir, "ca.crt"), s.Dir))
	t.Setenv("KUBECONFIG", filepath.Join(s.Dir, "kubeconfig"))
	config := configOf(ClusterConfig{Name: "prod", API: kube.Config{AuthType: kube.AuthKubeConfig, AllowExecCredentials: true, QPS: 1000, Burst: 1000}})
	require.NoError(t, config.Check())
	got, problems := newSunk(), newReported()
	f := startFleet(t, config, Options{ // a read that a busy machine does not end in time is followed by others
		Interval: 300 * time.Millisecond, Timeout: 5 * time.Second, Want: gpu.GroupAll, Sink: got.sink, Problems: problems.take,
	})
	readTimes(t, got, "prod/n1", 1)
	s.Set(func() { s.Token = "second" })
	eventually(t, func() bool {
		_, failed, _, err := got.state("prod/n1")
		return failed > 0 && errors.Is(err, kube.ErrCredentials)
	}, "the read has not ended")
	require.NoError(t, f.Close())
}
