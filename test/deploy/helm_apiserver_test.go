// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// A real API server accepts a release of each of the values, its upgrade and its removal, and pod security admission accepts the pods at the
// level of their namespaces, with queues, certificates and tokens. What operators define is left out: their kinds are not there.
func TestChartOnRealAPIServer(t *testing.T) {
	t.Parallel()
	helm(t)
	config := realAPIServer(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if _, err = client.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err == nil {
			break
		}
		require.Less(t, time.Since(start), 3*time.Minute, err)
	}
	access := []string{"--kube-apiserver", config.Host, "--kube-token", config.BearerToken, "--kube-insecure-skip-tls-verify", "--namespace", "default"}
	run := func(values string, args ...string) {
		t.Helper()
		out, err := runHelm(t, values, append(args, access...)...)
		require.NoError(t, err, "%v: %s", args, out)
	}

	// An install that failed, here because the driver pods' namespace was missing, can be repeated.
	repeatable := []string{"upgrade", "--install", "retry", chart, "-f", "-"}
	const retried = "otlp: {endpoint: gateway.example:4317}\nexec: {enabled: true, driverPods: {namespaces: [gpu-operator]}}\n"
	out, err := runHelm(t, retried, append(repeatable, access...)...)
	require.Error(t, err)
	require.Contains(t, string(out), "gpu-operator")
	for _, name := range []string{"gpu-operator", "gpu-tools", "gpu-reader"} { // of others
		_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	run(retried, repeatable...)
	run("", "uninstall", "retry")

	without := []string{"--set", "podMonitor.enabled=false,prometheusRule.enabled=false,openshift.enabled=false"}
	for release, values := range examples(t) {
		run(values, append([]string{"install", release, chart, "-f", "-"}, without...)...)
		checked := 0
		objects := decode(t, release, withoutOthers(renderAs(t, release, values)))
		for i := range objects {
			spec := objects[i].pod()
			if spec == nil {
				continue
			}
			checked++
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try", Namespace: objects[i].GetNamespace()}, Spec: *spec}
			pod.Spec.RuntimeClassName = nil // none is there
			pod.Spec.PriorityClassName = ""
			_, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			require.NoError(t, err, "%s: %s", release, objects[i].GetName())
		}
		assert.Positive(t, checked, release)
		run(values, append([]string{"upgrade", release, chart, "-f", "-", "--set", "logLevel=debug"}, without...)...)
		run("", "rollback", release, "1")
		run("", "uninstall", release)
	}
	roles, err := client.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	require.NoError(t, err)
	assert.Empty(t, roles.Items)
}
