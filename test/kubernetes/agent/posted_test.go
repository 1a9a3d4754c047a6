// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package agent

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/test/kubernetes/cluster"
)

// kubectlDescribe returns what `kubectl describe` prints of an object; it needs kubectl in PATH.
func (w *world) kubectlDescribe(t *testing.T, object ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, "kubectl", append([]string{"--kubeconfig=" + w.cluster.Kubeconfig(), "describe"}, object...)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// shows waits until the description of an object matches.
func (w *world) shows(t *testing.T, pattern string, object ...string) {
	t.Helper()
	compiled := regexp.MustCompile(pattern)
	var text string
	eventually(t, fmt.Sprintf("%v shows %s", object, pattern), func() bool {
		text = w.kubectlDescribe(t, object...)
		return compiled.MatchString(text)
	})
	t.Logf("%v: %s", object, compiled.FindString(text))
}

// posted: the node shows the state of its GPUs, and node and pod show what happened, under the policy that restricts the agent's
// permission.
func (w *world) posted(t *testing.T) {
	w.shows(t, `(?m)^ +GPUHealthy +True .*GPUsHealthy +8 GPUs are ok$`, "node", cluster.NodeName)
	trainDevice := w.want["train/main"][0].device
	number := -1
	for n := range gpus {
		if gpu(n) == trainDevice {
			number = n
		}
	}
	require.GreaterOrEqual(t, number, 0)
	w.more = fmt.Sprintf("[event x]\ngpu = %d\nxid = 79\n", number)
	w.simulate(t)
	const xid = `(?m)^ +Warning +GPUXid +.* gpureceiver +XID 79 on nvidia\d+ .*the GPU has fallen off the bus.*$`
	w.shows(t, xid, "node", cluster.NodeName)
	w.shows(t, xid, "pod", "train", "-n", w.namespace)
	w.more = fmt.Sprintf("[fault f]\ngpu = %d\nkind = lost\n", number)
	w.simulate(t)
	w.shows(t, `(?m)^ +GPUHealthy +False .*GPUFailed +nvidia\d+: failed.*$`, "node", cluster.NodeName)
	w.shows(t, `(?m)^ +Warning +GPUFailed +.* gpureceiver .*$`, "pod", "train", "-n", w.namespace)
	assert.NotContains(t, w.kubectlDescribe(t, "pod", "wide", "-n", w.namespace), "GPUXid", "it had other GPUs")
	w.more = ""
	w.simulate(t)
	w.shows(t, `(?m)^ +Normal +GPURecovered +.* gpureceiver .*$`, "node", cluster.NodeName)
	w.shows(t, `(?m)^ +GPUHealthy +True .*$`, "node", cluster.NodeName)
}
