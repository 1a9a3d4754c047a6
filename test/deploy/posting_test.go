// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const soon = 3 * time.Minute // for what takes a few seconds

// posting is a real API server with the agent's manifests, two nodes, and a pod with a GPU on the first of them.
type posting struct {
	config *rest.Config
	client kubernetes.Interface
	train  *corev1.Pod
}

func newPosting(t *testing.T, components ...string) *posting {
	t.Helper()
	config, client := applied(t, build(t, withComponents(t, "agent", components...)))
	p := &posting{config: config, client: client}
	for _, node := range []string{"node-a", "node-b"} {
		_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	teamNamespace(t, client)
	p.train = p.pod(t, "team", "train-0", "default", "node-a")
	return p
}

// teamNamespace makes the namespace team, in which pods may be made.
func teamNamespace(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.CoreV1().ServiceAccounts("team").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// applied returns the administrator's access to a real API server that has these objects.
func applied(t *testing.T, objects []object) (*rest.Config, kubernetes.Interface) {
	t.Helper()
	config := realAPIServer(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil
	}, soon, 100*time.Millisecond)
	for i := range objects {
		apply(t, dynamicClient, &objects[i])
	}
	return config, client
}

// pod makes a pod on a node. Nothing starts it.
func (p *posting) pod(t *testing.T, namespace, name, account, node string) *corev1.Pod {
	t.Helper()
	pod, err := p.client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{ServiceAccountName: account, NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "a"}}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	return pod
}

// token writes a token to a file: the one that an agent's pod on a node gets.
func (p *posting) token(t *testing.T, node string) string {
	t.Helper()
	pod := p.pod(t, "gpureceiver-agent", "agent-"+node, "gpureceiver-agent", node)
	token, err := p.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(file, []byte(token.Status.Token), 0o600))
	return file
}

// settings are the settings of the exporter of an agent on a node.
func (p *posting) settings(t *testing.T, node string) map[string]any {
	t.Helper()
	return map[string]any{"endpoint": p.config.Host, "token_file": p.token(t, node), "insecure_skip_verify": true, "node_name": node}
}

// describe returns what `kubectl describe` prints of an object.
func (p *posting) describe(t *testing.T, object ...string) string {
	t.Helper()
	return p.kubectl(t, append([]string{"describe"}, object...)...)
}

// kubectl runs kubectl as the administrator; it skips the rest of a test if kubectl is missing.
func (p *posting) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("kubectl"); err != nil {
		t.Skip("kubectl is not in PATH: what it shows was not checked")
	}
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	command := exec.CommandContext(ctx, "kubectl", append([]string{
		"--server=" + p.config.Host, "--token=" + p.config.BearerToken, "--insecure-skip-tls-verify",
	}, args...)...)
	command.Env = append(os.Environ(), "HOME="+t.TempDir(), "KUBECONFIG=")
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Logf("kubectl %v:\n%s", args, out)
	return string(out)
}

// events returns the Events of a namespace.
func (p *posting) events(t *testing.T, namespace string) []corev1.Event {
	t.Helper()
	list, err := p.client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	return list.Items
}

// With the permissions of its component, the exporter posts Events that are visible with the node and with the pod, each once, and repeats
// are counted, also by the exporter that is started next.
func TestKubernetesEvents(t *testing.T) {
	t.Parallel()
	p := newPosting(t, "kubernetes-events")
	settings := p.settings(t, "node-a")
	settings["events"] = map[string]any{}
	xid := map[string]any{
		"log.record.uid": "01a20579-8277-7549-a388-a42a763f5682", "hw.id": "GPU-1", "hw.gpu.held_by": []any{"team/train-0/main"},
		"k8s.namespace.name": "team", "k8s.pod.name": "train-0", "k8s.pod.uid": string(p.train.UID),
	}
	poster := startPoster(t, settings)
	poster.record(t, "node-a", xid)
	poster.record(t, "node-a", xid) // sent again
	poster.record(t, "node-b", xid) // not ours
	require.Eventually(t, func() bool { return len(p.events(t, "default")) == 1 && len(p.events(t, "team")) == 1 }, soon, 10*time.Millisecond)
	poster.stop()
	poster = startPoster(t, settings)
	poster.record(t, "node-a", xid) // after a restart
	xid["log.record.uid"] = "01a20579-8277-7549-a388-a42a763f5683"
	poster.record(t, "node-a", xid) // another one
	counted := func(namespace string) bool {
		events := p.events(t, namespace)
		return len(events) == 1 && events[0].Count == 2
	}
	require.Eventually(t, func() bool { return counted("default") && counted("team") }, soon, 10*time.Millisecond)

	const line = `(?m)^ +Warning +GPUXid .*\(x2 over .*\) +gpureceiver +XID 79 on nvidia0 \(NVIDIA H100 80GB HBM3\): the GPU has fallen off the bus; restart the node$`
	assert.Regexp(t, line, p.describe(t, "node", "node-a"))
	assert.Regexp(t, line, p.describe(t, "pod", "train-0", "-n", "team"))
	assert.NotContains(t, p.describe(t, "node", "node-b"), "GPUXid")
}
