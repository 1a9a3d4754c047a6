// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package exec

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/otelgpu/gpureceiver/test/collector/harness"
	"github.com/otelgpu/gpureceiver/test/nvmlsim"
)

// chartRelease is not gpureceiver, so that nothing of it has a name that other tests use.
const chartRelease = "chart"

const chartValues = `
clusterName: e2e
collectionInterval: 6s
otlp: {endpoint: "ENDPOINT"}
agent: {enabled: true, owners: {enabled: true}}
cluster: {enabled: true}
exec:
  enabled: true
  driverPods: {namespaces: [gpu-operator]}
`

// prometheusOnly also gives the agent the simulated library.
const prometheusOnly = `
otlp: {enabled: false}
exec: {enabled: false}
agent:
  dcgmNames: {enabled: true}
  secretMounts: [{secretName: simulator, mountPath: /simulator}]
  extraEnv: [{name: LD_LIBRARY_PATH, value: /simulator}]
`

// TestChart installs, upgrades, rolls back and uninstalls the Helm chart, with agent, cluster and exec in one release. After each step what the
// new pods send must arrive, or without OTLP be on their pages.
func TestChart(t *testing.T) {
	s := newStage(t)
	program := os.Getenv("HELM")
	if program == "" {
		t.Skip("HELM does not name the program: the chart was not installed; make e2e builds it")
	}
	s.namespace(t, gpuOperator)
	s.drivers(t, gpuOperator, "nvidia-driver-daemonset", true, driverContainer, driverImage)
	s.ImportCollector(t)
	o := newOutlet(t)
	endpoint, stop, err := o.ServeGRPC()
	require.NoError(t, err)
	t.Cleanup(stop)
	c := &chart{stage: s, outlet: o, program: program, home: t.TempDir()}
	values := strings.ReplaceAll(chartValues, "ENDPOINT", s.forward(t, endpoint))
	t.Cleanup(func() { _, _ = c.helm("", "uninstall", chartRelease, "--ignore-not-found") })
	wait := []string{"--wait", "--timeout", patience.String()}
	path := filepath.Join("..", "..", "..", "deploy", "helm", "gpureceiver")

	c.run(t, values, append([]string{"install", chartRelease, path, "-f", "-"}, wait...)...)
	c.sends(t)
	s.Apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: waits, namespace: gpu-operator}
spec: {containers: [{name: main, image: none, resources: {limits: {nvidia.com/gpu: "1"}}}]}
`)
	c.next(t, func(points harness.Points) bool { return len(points.Select("k8s.cluster.gpu.pod.pending")) > 0 }) // the cluster view
	first := c.pods(t, 1)

	// A changed configuration restarts the pods that have it.
	c.run(t, values+"  config: {receivers: {gpu: {timeout: 5s}}}\n", append([]string{"upgrade", chartRelease, path, "-f", "-"}, wait...)...)
	second := c.pods(t, 1)
	assert.NotEqual(t, first, second, "the pod has the new configuration")
	c.sends(t)

	// From one replica to two, which share the nodes by Leases, and back.
	c.run(t, values+"  replicas: 2\n  shards: 2\n", append([]string{"upgrade", chartRelease, path, "-f", "-"}, wait...)...)
	c.pods(t, 2)
	c.sends(t)
	leases, err := s.Client.CoordinationV1().Leases(c.namespace()).List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	assert.NotEmpty(t, leases.Items)
	c.run(t, "", append([]string{"rollback", chartRelease, "1"}, wait...)...)
	c.pods(t, 1)
	c.sends(t)

	// Prometheus only: the agent and the cluster view stay, and are scraped, the agent also with dcgm-exporter's names.
	c.simulator(t)
	c.run(t, prometheusOnly, append([]string{"upgrade", chartRelease, path, "--reset-then-reuse-values", "-f", "-"}, wait...)...)
	for _, page := range []struct{ mode, port, metric string }{
		{"agent", "9400", "hw_temperature_celsius{"}, {"agent", "9403", "DCGM_FI_DEV_GPU_TEMP{"}, {"cluster", "9400", "k8s_cluster_gpu_pod_pending{"},
	} {
		namespace := "gpureceiver-" + page.mode + "-" + chartRelease
		pod := c.ReadyPod(t, namespace, "app.kubernetes.io/name="+namespace)
		eventually(t, page.metric+" on port "+page.port+" of "+namespace, func() bool {
			text, err := c.Client.CoreV1().Pods(namespace).ProxyGet("http", pod.Name, page.port, "metrics", nil).DoRaw(t.Context())
			return err == nil && strings.Contains(string(text), "\n"+page.metric)
		})
	}

	c.run(t, "", append([]string{"uninstall", chartRelease}, wait...)...)
	c.waitRemoved(t)
}

// chart is the release.
type chart struct {
	*stage
	outlet

	program, home string
}

func (c *chart) namespace() string { return "gpureceiver-exec-" + chartRelease }

// simulator makes a Secret of the simulated library, whose default is eight GPUs, for the agent.
func (c *chart) simulator(t *testing.T) {
	t.Helper()
	built, err := nvmlsim.Build()
	require.NoError(t, err)
	library, err := os.ReadFile(built.Full)
	require.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "simulator"}, Data: map[string][]byte{filepath.Base(built.Full): library}}
	_, err = c.Client.CoreV1().Secrets("gpureceiver-agent-"+chartRelease).Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
}

// helm runs helm with values on its standard input.
func (c *chart) helm(values string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	command := exec.CommandContext(ctx, c.program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig(), "HELM_CONFIG_HOME="+c.home, "HELM_CACHE_HOME="+c.home, "HELM_DATA_HOME="+c.home)
	command.Stdin = strings.NewReader(values)
	out, err := command.CombinedOutput()
	return string(out), err
}

func (c *chart) run(t *testing.T, values string, args ...string) {
	t.Helper()
	out, err := c.helm(values, args...)
	if err != nil {
		for _, namespace := range []string{"gpureceiver-agent-" + chartRelease, "gpureceiver-cluster-" + chartRelease, c.namespace()} {
			t.Log(c.stage.Events(namespace))
		}
	}
	require.NoError(t, err, "helm %s: %s", args[0], out)
}

// sends requires that the GPUs' readings arrive, from now on, as the tool prints them.
func (c *chart) sends(t *testing.T) {
	t.Helper()
	points := c.next(t, twoGPUs)
	requireNode(t, points)
	value, ok := points.Value("hw.temperature", "hw.name", "nvidia0")
	assert.True(t, ok)
	assert.InDelta(t, 61, value, 1e-9)
}

// pods waits until there are as many agentless collectors as expected, all ready, and returns their UIDs.
func (c *chart) pods(t *testing.T, want int) (uids []types.UID) {
	t.Helper()
	eventually(t, "the pods are ready", func() bool {
		list, err := c.Client.CoreV1().Pods(c.namespace()).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + c.namespace()})
		require.NoError(t, err)
		uids = nil
		for i := range list.Items {
			for _, condition := range list.Items[i].Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && list.Items[i].DeletionTimestamp == nil {
					uids = append(uids, list.Items[i].UID)
				}
			}
		}
		return len(uids) == want && len(list.Items) == want
	})
	return uids
}

// waitRemoved requires that nothing of the release is left, in whatever namespace.
func (c *chart) waitRemoved(t *testing.T) {
	t.Helper()
	eventually(t, "the namespaces are gone", func() bool {
		list, err := c.Client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for i := range list.Items {
			if strings.HasSuffix(list.Items[i].Name, "-"+chartRelease) {
				return false
			}
		}
		return true
	})
	roles, err := c.Client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range roles.Items {
		assert.NotContains(t, roles.Items[i].Name, "-"+chartRelease)
	}
	bindings, err := c.Client.RbacV1().ClusterRoleBindings().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	for i := range bindings.Items {
		assert.NotContains(t, bindings.Items[i].Name, "-"+chartRelease)
	}
	_, err = c.Client.RbacV1().Roles(gpuOperator).Get(t.Context(), c.namespace(), metav1.GetOptions{})
	require.Error(t, err, "the right in the driver pods")
	secrets, err := c.Client.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm"})
	require.NoError(t, err)
	assert.Empty(t, secrets.Items, "the release")
}
