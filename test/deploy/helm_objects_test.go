// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// Whatever the values, pods have no more than the shipped manifests allow, roles no rule that these do not have, and no ConfigMap or
// environment variable a secret.
func TestChartGrantsNoMore(t *testing.T) {
	t.Parallel()
	rules := map[string]bool{}
	for _, o := range all(t) {
		for _, rule := range rulesOf(t, &o) {
			rules[rule] = true
		}
	}
	for name, values := range examples(t) {
		if name == "gke" { // privileged, as TestChartPlatforms expects
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := rendered(t, values)
			pods := checkPods(t, objects, "SYS_PTRACE", "SYSLOG")
			assert.Positive(t, pods)
			accounts := map[string]bool{}
			for i := range objects {
				if _, ok := objects[i].typed.(*corev1.ServiceAccount); ok {
					accounts[objects[i].GetNamespace()+"/"+objects[i].GetName()] = true
				}
				_, secret := objects[i].typed.(*corev1.Secret)
				assert.False(t, secret, "%s: the chart makes no Secret", objects[i].GetName())
				for _, rule := range rulesOf(t, &objects[i]) {
					assert.True(t, rules[rule], "%s grants %s, which no manifest of deploy/kubernetes does", objects[i].GetName(), rule)
				}
			}
			for i := range objects {
				for _, subject := range subjects(&objects[i]) {
					assert.True(t, accounts[subject.Namespace+"/"+subject.Name], "%s is bound to %v", objects[i].GetName(), subject)
				}
			}
		})
	}
}

// A cluster that is only read agentless grants nothing here, and needs no token.
func TestChartOfAgentlessCollector(t *testing.T) {
	t.Parallel()
	objects := rendered(t, `
agent: {enabled: false}
exec: {enabled: true, clusters: [{name: a, endpoint: "https://a.example", tokenSecret: {name: a}}]}`)
	for i := range objects {
		assert.Empty(t, rulesOf(t, &objects[i]), objects[i].GetName())
	}
	pod := only(t, objects)
	require.NotNil(t, pod.AutomountServiceAccountToken)
	assert.False(t, *pod.AutomountServiceAccountToken)
}

// rulesOf returns the rules of a role, each as its kind and what it allows.
func rulesOf(t *testing.T, o *object) (result []string) {
	t.Helper()
	kind, rules := "ClusterRole", []rbacv1.PolicyRule(nil)
	switch role := o.typed.(type) {
	case *rbacv1.ClusterRole:
		rules = role.Rules
	case *rbacv1.Role:
		kind, rules = "Role", role.Rules
	}
	for _, rule := range rules {
		text, err := yaml.Marshal(rule)
		require.NoError(t, err)
		result = append(result, kind+" "+string(text))
	}
	return result
}

func subjects(o *object) []rbacv1.Subject {
	switch binding := o.typed.(type) {
	case *rbacv1.ClusterRoleBinding:
		return binding.Subjects
	case *rbacv1.RoleBinding:
		return binding.Subjects
	}
	return nil
}

// What the network policies let through, and nothing else: each has both types, so that what is not listed is refused.
func TestChartNetworkPolicies(t *testing.T) {
	t.Parallel()
	var got []string
	for _, o := range rendered(t, `
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  otlpFrom: []
otlp: {endpoint: "backend.example:443"}
agent: {owners: {enabled: true}, dcgmNames: {enabled: true}}
cluster: {enabled: true}
exec: {enabled: true, clusters: [{name: a, endpoint: "https://a.example:16443", tokenSecret: {name: a}}, {name: b}]}
gateway: {enabled: true}
`) {
		policy, ok := o.typed.(*networkingv1.NetworkPolicy)
		if !ok {
			continue
		}
		assert.Equal(t, map[string]string{"app.kubernetes.io/name": policy.Name}, policy.Spec.PodSelector.MatchLabels)
		assert.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policy.Spec.PolicyTypes)
		name := strings.TrimPrefix(policy.Name, "gpureceiver-")
		for _, rule := range policy.Spec.Ingress {
			got = append(got, name+" from "+peers(t, rule.From)+": "+portsOf(rule.Ports))
		}
		for _, rule := range policy.Spec.Egress {
			got = append(got, name+" to "+peers(t, rule.To)+": "+portsOf(rule.Ports))
		}
	}
	slices.Sort(got)
	assert.Equal(t, []string{
		"agent from anywhere: 13133/TCP",
		"agent from namespace monitoring: 9400/TCP 9403/TCP 8888/TCP",
		"agent to anywhere: 4317/TCP",
		"agent to anywhere: 443/TCP 6443/TCP",
		"agent to anywhere: 53/UDP 53/TCP",
		"cluster from anywhere: 13133/TCP",
		"cluster from namespace monitoring: 9400/TCP 8888/TCP",
		"cluster to anywhere: 4317/TCP",
		"cluster to anywhere: 443/TCP 6443/TCP",
		"cluster to anywhere: 53/UDP 53/TCP",
		"exec from anywhere: 13133/TCP",
		"exec from namespace monitoring: 8888/TCP",
		"exec to anywhere: 4317/TCP",
		"exec to anywhere: 443/TCP 6443/TCP 16443/TCP",
		"exec to anywhere: 53/UDP 53/TCP",
		"gateway from anywhere: 13133/TCP",
		"gateway from anywhere: 4317/TCP 4318/TCP",
		"gateway from namespace monitoring: 8888/TCP",
		"gateway to anywhere: 443/TCP",
		"gateway to anywhere: 53/UDP 53/TCP",
	}, got)
	alone := rendered(t, "networkPolicy: {enabled: true}")
	for _, o := range alone {
		if policy, ok := o.typed.(*networkingv1.NetworkPolicy); ok {
			assert.Len(t, policy.Spec.Egress, 2, "without a token the agent reaches no API server")
		}
	}
}

// OpenShift's DNS pods listen on another port, and a policy is for the ports of pods.
func TestChartNetworkPolicyOpenShift(t *testing.T) {
	t.Parallel()
	policies := 0
	for _, o := range rendered(t, "networkPolicy: {enabled: true}\nopenshift: {enabled: true}\nagent: {enabled: false}\ncluster: {enabled: true}") {
		if policy, ok := o.typed.(*networkingv1.NetworkPolicy); ok {
			policies++
			assert.Equal(t, "53/UDP 53/TCP 5353/UDP 5353/TCP", portsOf(policy.Spec.Egress[0].Ports))
		}
	}
	assert.Equal(t, 1, policies)
}

// A volume that pods share is locked by the pod that has it: a second one beside it would never be ready, and so never replace it.
func TestChartGatewayStrategy(t *testing.T) {
	t.Parallel()
	for volume, want := range map[string]appsv1.DeploymentStrategyType{
		"{}":                                     appsv1.RollingUpdateDeploymentStrategyType,
		"{emptyDir: {}}":                         appsv1.RollingUpdateDeploymentStrategyType,
		"{ephemeral: {volumeClaimTemplate: {}}}": appsv1.RollingUpdateDeploymentStrategyType,
		"{persistentVolumeClaim: {claimName: queue}}": appsv1.RecreateDeploymentStrategyType,
	} {
		deployments := 0
		for _, o := range rendered(t, "agent: {enabled: false}\ngateway: {enabled: true, queue: {enabled: true, volume: "+volume+"}}") {
			if deployment, ok := o.typed.(*appsv1.Deployment); ok {
				deployments++
				assert.Equal(t, want, deployment.Spec.Strategy.Type, volume)
			}
		}
		assert.Equal(t, 1, deployments)
	}
}

func peers(t *testing.T, networkPeers []networkingv1.NetworkPolicyPeer) string {
	t.Helper()
	if len(networkPeers) == 0 {
		return "anywhere"
	}
	var names []string
	for _, peer := range networkPeers {
		require.NotNil(t, peer.NamespaceSelector)
		names = append(names, "namespace "+peer.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"])
	}
	return strings.Join(names, ", ")
}

func portsOf(ports []networkingv1.NetworkPolicyPort) string {
	names := make([]string, 0, len(ports))
	for _, port := range ports {
		names = append(names, fmt.Sprintf("%s/%s", port.Port.String(), *port.Protocol))
	}
	return strings.Join(names, " ")
}

// A changed configuration restarts the pods that have it, and no others. Two releases share no name.
func TestChartRestartsAndNames(t *testing.T) {
	t.Parallel()
	annotations := func(values string) map[string]string {
		got := map[string]string{}
		for name, text := range byTemplate(render(t, values)) {
			if sum := checksum.FindString(text); sum != "" {
				got[name] = sum
			}
		}
		return got
	}
	const both = "cluster: {enabled: true}\n"
	before := annotations(both)
	require.Len(t, before, 2)
	assert.Equal(t, before, annotations(both+"agent: {resources: {requests: {cpu: 1}}}"))
	for _, changed := range []string{"agent: {config: {receivers: {gpu: {timeout: 5s}}}}", "agent: {owners: {enabled: true}}", "agent: {queue: {enabled: true}}"} {
		after := annotations(both + changed)
		assert.Equal(t, before["cluster/deployment.yaml"], after["cluster/deployment.yaml"], changed)
		assert.NotEqual(t, before["agent/daemonset.yaml"], after["agent/daemonset.yaml"], changed)
	}

	everything := both + "exec: {enabled: true, replicas: 2}\ngateway: {enabled: true}\nagent: {owners: {enabled: true}, nodeCondition: {enabled: true, policy: {enabled: true}}}"
	names := map[string]bool{}
	for _, release := range []string{"gpureceiver", "eu", "gpureceiver-us"} {
		for _, o := range decode(t, release, withoutOthers(renderAs(t, release, everything))) {
			key := o.typed.GetObjectKind().GroupVersionKind().Kind + " " + o.GetNamespace() + "/" + o.GetName()
			assert.False(t, names[key], "two releases make %s", key)
			names[key] = true
			assert.True(t, strings.HasPrefix(o.GetName(), "gpureceiver-"), key)
		}
	}
	assert.True(t, names["DaemonSet gpureceiver-agent-us/gpureceiver-agent-us"])
}

// On each platform the NVIDIA agents select GPU nodes, and use what opens the GPUs to a container there.
func TestChartPlatforms(t *testing.T) {
	t.Parallel()
	for platform, want := range map[string]struct {
		runtime    string
		label      string // that selects the nodes
		privileged bool
		mount      string
	}{
		"":             {"nvidia", "nvidia.com/gpu.present", false, ""},
		"eks":          {"", "nvidia.com/gpu.present", false, ""},
		"aks":          {"", "kubernetes.azure.com/accelerator", false, ""},
		"bottlerocket": {"", "nvidia.com/gpu.present", false, "/var/run/nvidia-container-devices/all"},
		"gke":          {"", "cloud.google.com/gke-accelerator", true, "/usr/local/nvidia"},
	} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			pod := only(t, rendered(t, "platform: '"+platform+"'\nagent: {nvidia: {enabled: true}}"))
			var selected []string
			for label := range pod.NodeSelector {
				selected = append(selected, label)
			}
			if pod.Affinity != nil {
				for _, term := range pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
					selected = append(selected, term.MatchExpressions[0].Key)
				}
			}
			assert.Equal(t, []string{want.label}, selected)
			runtime := ""
			if pod.RuntimeClassName != nil {
				runtime = *pod.RuntimeClassName
			}
			assert.Equal(t, want.runtime, runtime)
			assert.Equal(t, want.privileged, *pod.Containers[0].SecurityContext.Privileged)
			mounted := ""
			for _, mount := range pod.Containers[0].VolumeMounts {
				if mount.Name == "nvidia" {
					mounted = mount.MountPath
				}
			}
			assert.Equal(t, want.mount, mounted)
		})
	}
}
