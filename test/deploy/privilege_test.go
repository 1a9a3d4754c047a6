// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// namespaced are the permissions that may be granted only in a namespace, by a Role.
var namespaced = map[string][]string{
	"pods/exec":                  {"create", "get"},
	"leases.coordination.k8s.io": {"create", "delete", "list", "update"},
}

// posted are the changes that a ClusterRole may let a collector make, by the manifest that grants them and nothing else.
var posted = map[string]map[string][]string{
	filepath.Join("components", "kubernetes-events", "rbac.yaml"): {"events": {"create", "patch"}},
	filepath.Join("components", "node-condition", "rbac.yaml"):    {"nodes/status": {"get", "patch"}},
}

// readable contains the resources that a ClusterRole may let a collector read. Secrets and ConfigMaps are not among them.
var readable = []string{
	"pods", "nodes", "namespaces", "replicasets.apps", "jobs.batch", "resourceslices.resource.k8s.io", "resourceclaims.resource.k8s.io",
}

// ownerKinds are further kinds of owners, which the components for the usual frameworks let a collector read.
var ownerKinds = []string{
	"deployments.apps", "statefulsets.apps", "leaderworkersets.leaderworkerset.x-k8s.io", "jobsets.jobset.x-k8s.io", "rayclusters.ray.io",
	"revisions.serving.knative.dev", "configurations.serving.knative.dev", "services.serving.knative.dev", "workflows.argoproj.io", "taskruns.tekton.dev",
	"sparkapplications.sparkoperator.k8s.io", "jobs.batch.volcano.sh", "broadcastjobs.apps.kruise.io",
}

// Only the listed resources may be read, changes are limited to an exec, a Lease and what is posted, and no rule has a wildcard.
func TestRolesAreMinimal(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, o := range all(t) {
		var rules []rbacv1.PolicyRule
		inNamespace := false
		switch role := o.typed.(type) {
		case *rbacv1.ClusterRole:
			rules = role.Rules
			assert.Nil(t, role.AggregationRule, o.file)
		case *rbacv1.Role:
			rules, inNamespace = role.Rules, true
			assert.NotEmpty(t, role.Namespace, o.file)
		default:
			continue
		}
		require.NotEmpty(t, rules, o.file)
		for _, rule := range rules {
			assert.Empty(t, rule.NonResourceURLs, o.file)
			for _, resource := range resources(rule) {
				checked++
				if rights, ok := posted[o.file]; ok {
					assert.ElementsMatch(t, rights[resource], rule.Verbs, "%s: %s", o.file, resource)
					continue
				}
				if o.file == filepath.Join("components", "cluster-replicas", "rbac.yaml") { // one Lease, by its name if the verb allows that
					assert.True(t, inNamespace, o.file)
					assert.Equal(t, "leases.coordination.k8s.io", resource, o.file)
					if assert.Subset(t, []string{"create", "get", "update"}, rule.Verbs, o.file); !slices.Equal(rule.Verbs, []string{"create"}) {
						assert.Equal(t, []string{"gpureceiver-cluster"}, rule.ResourceNames, o.file)
					}
					continue
				}
				if verbs, ok := namespaced[resource]; ok {
					assert.True(t, inNamespace, "%s: %s by a ClusterRole", o.file, resource)
					assert.ElementsMatch(t, verbs, rule.Verbs, "%s: %s", o.file, resource)
					continue
				}
				may := readable
				if strings.HasSuffix(filepath.Dir(o.file), "owner-kinds") {
					may = slices.Concat(readable, ownerKinds)
				}
				assert.Contains(t, may, resource, o.file)
				verbs := []string{"list", "watch"}
				if o.file == filepath.Join("components", "owner-kinds", "rbac.yaml") ||
					o.file == filepath.Join("components", "owners", "rbac.yaml") && resource != "pods" ||
					o.file == filepath.Join("components", "dra", "rbac.yaml") && resource == "resourceclaims.resource.k8s.io" ||
					o.file == filepath.Join("components", "node-labels", "rbac.yaml") {
					verbs = []string{"get"} // one by one
				}
				if strings.HasPrefix(o.file, filepath.Join("components", "k8s-attributes")) {
					verbs = append(verbs, "get") // the processor's own demand
				}
				assert.ElementsMatch(t, verbs, rule.Verbs, "%s: %s", o.file, resource)
			}
		}
		for _, part := range strings.Split(o.text, "  - apiGroups:")[:len(rules)] {
			lines := strings.Split(strings.TrimRight(part, "\n"), "\n")
			assert.Contains(t, lines[len(lines)-1], "# ", "%s: a rule without its reason above it", o.file)
		}
	}
	assert.NotZero(t, checked)
}

// resources are the resources of a rule, with their groups.
func resources(rule rbacv1.PolicyRule) []string {
	var names []string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			if group != "" {
				resource += "." + group
			}
			names = append(names, resource)
		}
	}
	return names
}

// Every permission is granted to one of our accounts only.
func TestPermissionSubjects(t *testing.T) {
	t.Parallel()
	accounts := map[rbacv1.Subject]bool{}
	for _, o := range all(t) {
		if _, ok := o.typed.(*corev1.ServiceAccount); ok {
			accounts[rbacv1.Subject{Kind: "ServiceAccount", Name: o.GetName(), Namespace: o.GetNamespace()}] = true
		}
		if _, ok := o.typed.(*corev1.Secret); ok {
			t.Errorf("%s: a Secret", o.file)
		}
	}
	roles := map[string]bool{}
	for _, o := range all(t) {
		switch role := o.typed.(type) {
		case *rbacv1.ClusterRole, *rbacv1.Role:
			roles[o.typed.GetObjectKind().GroupVersionKind().Kind+" "+o.GetNamespace()+"/"+o.GetName()] = false
		case *rbacv1.ClusterRoleBinding:
			bound(t, roles, accounts, role.RoleRef.Kind+" /"+role.RoleRef.Name, role.Subjects)
		case *rbacv1.RoleBinding:
			bound(t, roles, accounts, role.RoleRef.Kind+" "+role.Namespace+"/"+role.RoleRef.Name, role.Subjects)
		}
	}
	for role, used := range roles {
		assert.True(t, used, "%s is not bound", role)
	}
}

func bound(t *testing.T, roles map[string]bool, accounts map[rbacv1.Subject]bool, role string, subjects []rbacv1.Subject) {
	t.Helper()
	assert.Contains(t, roles, role, "bound before it is there, or not there")
	roles[role] = true
	require.Len(t, subjects, 1, role)
	assert.True(t, accounts[subjects[0]], "%s: %v", role, subjects[0])
}

// pod returns the pod that an object creates.
func (o *object) pod() *corev1.PodSpec {
	switch typed := o.typed.(type) {
	case *appsv1.DaemonSet:
		return &typed.Spec.Template.Spec
	case *appsv1.Deployment:
		return &typed.Spec.Template.Spec
	}
	return nil
}

// checkPods checks that pods have no more privileges than they need. capabilities are the capabilities that may be added.
func checkPods(t *testing.T, objects []object, capabilities ...corev1.Capability) (pods int) {
	t.Helper()
	for i := range objects {
		o := &objects[i]
		pod := o.pod()
		if pod == nil {
			continue
		}
		pods++
		agent := strings.HasPrefix(o.GetName(), "gpureceiver-agent")
		assert.Equal(t, agent, pod.HostPID, o.file)
		assert.False(t, pod.HostNetwork, o.file)
		assert.False(t, pod.HostIPC, o.file)
		require.NotNil(t, pod.SecurityContext, o.file)
		assert.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type, o.file)
		if !agent {
			assert.True(t, *pod.SecurityContext.RunAsNonRoot, o.file)
			if user := pod.SecurityContext.RunAsUser; user != nil { // on OpenShift the namespace has one
				assert.NotZero(t, *user, o.file)
			}
		}
		assert.Empty(t, pod.InitContainers, o.file)
		require.Len(t, pod.Containers, 1, o.file)
		checkContainer(t, o.file, &pod.Containers[0], capabilities)
		checkVolumes(t, o.file, pod, agent)
	}
	return pods
}

func checkContainer(t *testing.T, file string, c *corev1.Container, capabilities []corev1.Capability) {
	t.Helper()
	security := c.SecurityContext
	require.NotNil(t, security, file)
	assert.False(t, *security.Privileged, file)
	assert.False(t, *security.AllowPrivilegeEscalation, file)
	assert.True(t, *security.ReadOnlyRootFilesystem, file)
	assert.Equal(t, []corev1.Capability{"ALL"}, security.Capabilities.Drop, file)
	assert.Subset(t, capabilities, security.Capabilities.Add, file)
	assert.Contains(t, c.Args, "--feature-gates=+extension.healthcheck.useComponentStatus", file)
	assert.NotEmpty(t, c.Resources.Requests, file)
	assert.NotEmpty(t, c.Resources.Limits.Memory().String(), file)
	checkMemory(t, file, c)
	for _, mount := range c.VolumeMounts {
		assert.Equal(t, mount.Name != "queue", mount.ReadOnly, "%s: %s", file, mount.MountPath)
	}
}

var mebibytes = regexp.MustCompile(`^([0-9]+)MiB$`)

// checkMemory checks that Go's memory limit is set, with room below the container's limit for memory outside of Go.
func checkMemory(t *testing.T, file string, c *corev1.Container) {
	t.Helper()
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	require.GreaterOrEqual(t, i, 0, file)
	m := mebibytes.FindStringSubmatch(c.Env[i].Value)
	require.NotNil(t, m, "%s: %s", file, c.Env[i].Value)
	soft, err := strconv.ParseInt(m[1], 10, 64)
	require.NoError(t, err)
	hard := float64(c.Resources.Limits.Memory().Value())
	assert.InDelta(t, 0.85*hard, soft<<20, 0.05*hard, file)
}

func checkVolumes(t *testing.T, file string, pod *corev1.PodSpec, agent bool) {
	t.Helper()
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		switch {
		case v.ConfigMap != nil, v.Secret != nil:
		case v.Projected != nil:
			for _, source := range v.Projected.Sources {
				assert.NotNil(t, source.Secret, "%s: %s", file, v.Name)
			}
		case v.Name == "queue": // only in the chart, not in the manifests
			assert.True(t, v.EmptyDir != nil || v.Ephemeral != nil, file)
		case v.HostPath != nil:
			assert.True(t, agent, file)
			assert.Equal(t, corev1.HostPathDirectory, *v.HostPath.Type, "%s: nothing is made on the node: %s", file, v.HostPath.Path)
			assert.Contains(t, []string{"/var/lib/kubelet/pod-resources", "/var/log/pods", "/var/log/containers", "/var/run/cdi"}, v.HostPath.Path, file)
		default:
			t.Errorf("%s: volume %s", file, v.Name)
		}
		assert.True(t, slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name }), v.Name)
	}
}

// The pods have no capability, no write access, no unused token, and no access to the node except the files that the agent reads.
func TestPodsHaveNoMoreThanTheyNeed(t *testing.T) {
	t.Parallel()
	objects := all(t)
	assert.Equal(t, 3, checkPods(t, objects))
	for i := range objects {
		if pod := objects[i].pod(); pod != nil && objects[i].GetName() == "gpureceiver-agent" {
			assert.False(t, *pod.AutomountServiceAccountToken, "the agent has no right that needs a token")
		}
	}
}
