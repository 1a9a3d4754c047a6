// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// testSpoiled makes the tool print invalid output. No value is derived from it, and reading continues when the tool works again.
func testSpoiled(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	defer s.replay(t, state{Mode: "good"})
	b.next(t, twoGPUs)
	for _, test := range []struct {
		mode  string
		words []string
	}{
		{"garbage", []string{`"what": "nvidia-smi"`, "nvidia-smi --query-gpu: no table in"}},
		{"flood", []string{`"what": "nvidia-smi"`, "nvidia-smi --query-gpu"}},
		{"driverless", []string{"couldn't communicate with the NVIDIA driver"}},
	} {
		t.Run(test.mode, func(t *testing.T) {
			lines := b.said(test.words...)
			s.replay(t, state{Mode: test.mode})
			eventually(t, "a line about it", func() bool { return b.said(test.words...) > lines })
			s.replay(t, state{Mode: "good"})
			requireNode(t, b.next(t, twoGPUs))
			s.requireClean(t)
		})
	}
}

// tools are the tool's processes in the driver pod, by the machine's PIDs. others are all other processes in it except its first.
func (s *stage) tools(t *testing.T) (tools, others []string) {
	t.Helper()
	pod := s.ReadyPod(t, gpuOperator, driverLabel)
	lines, err := cluster.ProcessesIn(pod.Status.ContainerStatuses[0].ContainerID)
	require.NoError(t, err)
	for pid, line := range lines {
		program, _, _ := strings.Cut(line, " ")
		switch path.Base(program) {
		case "nvidia-smi":
			tools = append(tools, pid+" "+line)
		case "pause", "":
		default:
			others = append(others, pid+" "+line)
		}
	}
	return tools, others
}

// requireClean waits until nothing but its first process runs in the driver pod.
func (s *stage) requireClean(t *testing.T) {
	t.Helper()
	var rest []string
	defer func() {
		if len(rest) > 0 {
			t.Logf("left in the pod: %q", rest)
		}
	}()
	eventually(t, "nothing is left in the pod", func() bool {
		tools, others := s.tools(t)
		rest = slices.Concat(tools, others)
		return len(rest) == 0
	})
}

// testHanging makes the tool wait for a driver that does not answer. Its processes must not accumulate in the pod, and none may remain:
// neither after the timeout nor after the collector has ended.
func testHanging(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	b.next(t, twoGPUs)
	s.replay(t, state{Mode: "hang"})
	defer s.replay(t, state{Mode: "good"})
	eventually(t, "the tool hangs", func() bool { tools, _ := s.tools(t); return len(tools) > 0 })
	most := 0
	for end := time.Now().Add(2 * interval); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		tools, _ := s.tools(t)
		most = max(most, len(tools))
	}
	assert.Equal(t, 1, most, "one at a time")
	b.says(t, "nvidia-smi in container nvidia-driver-ctr", "did not end in time", "was killed")
	s.replay(t, state{Mode: "good"})
	requireNode(t, b.next(t, twoGPUs))

	s.replay(t, state{Mode: "hang"})
	eventually(t, "the tool hangs again", func() bool { tools, _ := s.tools(t); return len(tools) > 0 })
	b.Kill()
	s.requireClean(t)
}

// testFrozenAPIServer makes the API server hang for a while: it accepts connections but does not answer.
func testFrozenAPIServer(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	b.next(t, twoGPUs)
	thaw := s.Freeze(t, cluster.APIServer)
	b.says(t, `"what": "read"`, "it did not end within the timeout", "the API server, the kubelet or the tool hangs")
	assert.True(t, b.Running())
	thaw()
	requireNode(t, b.next(t, twoGPUs))
	b.says(t, "Read works again", `"what": "read"`)
}

// testFrozenKubelet makes the kubelet hang for a while: the API server answers, but the exec does not proceed.
func testFrozenKubelet(t *testing.T, s *stage) {
	b := s.start(t, shippedAccount, "")
	b.next(t, twoGPUs)
	thaw := s.Freeze(t, cluster.Kubelet)
	b.says(t, `"what": "read"`, "it did not end within the timeout")
	thaw()
	requireNode(t, b.next(t, twoGPUs))
	s.requireClean(t)
}

// testTokens replaces the token, as the kubelet does within its hour. Tokens here are bound to secrets, with which they end.
func testTokens(t *testing.T, s *stage) {
	bound := func(secret string) string {
		s.Apply(t, "{apiVersion: v1, kind: Secret, metadata: {name: "+secret+", namespace: "+accounts+"}}")
		return s.Token(t, accounts, shippedAccount, &authenticationv1.BoundObjectReference{Kind: "Secret", APIVersion: "v1", Name: secret})
	}
	end := func(secret, token string) {
		require.NoError(t, s.Client.CoreV1().Secrets(accounts).Delete(t.Context(), secret, metav1.DeleteOptions{}))
		config := rest.AnonymousClientConfig(s.Config)
		config.BearerToken = token
		client, err := kubernetes.NewForConfig(config)
		require.NoError(t, err)
		eventually(t, "the token has ended", func() bool {
			_, err := client.CoreV1().Pods(gpuOperator).List(t.Context(), metav1.ListOptions{})
			return apierrors.IsUnauthorized(err)
		})
	}
	first := bound("first")
	b := s.startWith(t, first, "")
	b.next(t, twoGPUs)
	second := bound("second")
	b.setToken(t, second)
	end("first", first)
	b.next(t, twoGPUs)
	b.next(t, twoGPUs)
	assert.Zero(t, b.said("401"), "a token that was replaced in time is missed by nobody")

	end("second", second)
	b.says(t, `"what": "read"`, "401", "check the credentials of this cluster")
	b.setToken(t, s.Token(t, accounts, shippedAccount, nil))
	requireNode(t, b.next(t, twoGPUs))
}
