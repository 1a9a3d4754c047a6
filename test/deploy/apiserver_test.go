// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/test/apiserver"
)

// realAPIServer starts an API server and returns the administrator's access.
func realAPIServer(t *testing.T) *rest.Config {
	t.Helper()
	return apiserver.Start(t)
}

// A real API server accepts all manifests, its pod security admission accepts the pods at the level of their namespaces, and each account
// has exactly the permissions that it needs.
func TestRealAPIServer(t *testing.T) {
	t.Parallel()
	objects := slices.Concat(
		build(t, withComponents(t, "agent", "nvidia-runtime", "amd-fdinfo", "owners", "dra", "telemetry-otlp")),
		build(t, filepath.Join(manifests, "cluster")), build(t, filepath.Join(manifests, "exec-sharded")),
	)
	rights := build(t, filepath.Join(manifests, "exec-driver-pods"))
	config := realAPIServer(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	for start := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		if err == nil {
			break
		}
		require.Less(t, time.Since(start), 3*time.Minute, err)
	}
	_, err = client.NodeV1().RuntimeClasses().Create(t.Context(),
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "nvidia"}, Handler: "nvidia"}, metav1.CreateOptions{})
	require.NoError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	for i := range objects {
		apply(t, dynamicClient, &objects[i])
	}
	_, err = client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "gpu-operator"}}, metav1.CreateOptions{})
	require.NoError(t, err, "the rest needs no namespace of others")
	for i := range rights {
		apply(t, dynamicClient, &rights[i])
	}
	pods := 0
	for i := range objects {
		spec := objects[i].pod()
		if spec == nil {
			continue
		}
		pods++
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try", Namespace: objects[i].GetNamespace()}, Spec: *spec}
		_, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		require.NoError(t, err, objects[i].GetName())
		if pod.Spec.HostPID { // to show that the level of the other namespaces is enforced
			pod.Namespace, pod.Spec.ServiceAccountName = "gpureceiver-exec", "gpureceiver-exec"
			_, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			require.ErrorContains(t, err, "violates PodSecurity")
		}
	}
	assert.Equal(t, 3, pods)
	for _, c := range accesses {
		verb, rest, _ := strings.Cut(c.title, " ")
		resource, namespace, _ := strings.Cut(rest, " in ")
		resource, subresource, _ := strings.Cut(resource, "/")
		resource, group, _ := strings.Cut(resource, ".")
		attributes := &authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace}
		var status authorizationv1.SubjectAccessReviewStatus
		allowed := func() bool {
			review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: "system:serviceaccount:" + c.account + ":" + c.account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
					ResourceAttributes: attributes,
				},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
			status = review.Status
			return status.Allowed
		}
		for start := time.Now(); allowed() != c.allowed && time.Since(start) < time.Minute; { // the server learns of the roles a little later
			time.Sleep(100 * time.Millisecond)
		}
		assert.Equal(t, c.allowed, status.Allowed, "%s: %s: %s", c.account, c.title, status.Reason)
	}
	checkPages(t, config, client)
	checkAsked(t, config, client)
}

// checkPages checks that an API server returns a long list in pages, and a watch that continues from it.
func checkPages(t *testing.T, config *rest.Config, client kubernetes.Interface) {
	t.Helper()
	const many = 1100
	create := func(i int) {
		name := fmt.Sprint("set-", i)
		labels := map[string]string{"app": name}
		_, err := client.AppsV1().ReplicaSets("gpu-operator").Create(t.Context(), &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "top", UID: "t"}}},
			Spec: appsv1.ReplicaSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
				},
			},
		}, metav1.CreateOptions{})
		assert.NoError(t, err)
	}
	var creating sync.WaitGroup
	for worker := range 8 {
		creating.Go(func() {
			for i := worker; i < many; i += 8 {
				create(i)
			}
		})
	}
	creating.Wait()

	var lists atomic.Int64
	counted := rest.CopyConfig(config)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			if strings.HasSuffix(r.URL.Path, "/replicasets") && r.URL.Query().Get("watch") == "" {
				lists.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	clients, err := kube.NewClients(counted)
	require.NoError(t, err)
	owners := kube.WatchOwners(clients, []string{"replicasets.apps"})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { owners.Run(ctx) })
	defer running.Wait()
	defer cancel()
	above := func(i int) int {
		set, err := client.AppsV1().ReplicaSets("gpu-operator").Get(t.Context(), fmt.Sprint("set-", i), metav1.GetOptions{})
		if err != nil {
			return 0
		}
		return len(owners.Of(&kube.Pod{Namespace: "gpu-operator", Owners: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: set.Name, UID: set.UID}}}))
	}
	require.Eventually(t, owners.Synced, time.Minute, 10*time.Millisecond, owners.Errs())
	assert.Equal(t, int64(2), lists.Load())
	for _, i := range []int{0, 500, many - 1} {
		assert.Equal(t, 2, above(i), i)
	}
	create(many)
	require.Eventually(t, func() bool { return above(many) == 2 }, time.Minute, 10*time.Millisecond, "the watch reports it")
	assert.Empty(t, owners.Errs())
	assert.Equal(t, int64(2), lists.Load())
}

// checkAsked checks whether the agent's account may query an owner, and what is reported if another account may not.
func checkAsked(t *testing.T, config *rest.Config, client kubernetes.Interface) {
	t.Helper()
	set, err := client.AppsV1().ReplicaSets("gpu-operator").Get(t.Context(), "set-0", metav1.GetOptions{})
	require.NoError(t, err)
	owned := func(name string) *kube.Pod {
		return &kube.Pod{Namespace: "gpu-operator", Owners: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: set.UID}}}
	}
	ask := func(account string) (*kube.Owners, *atomic.Int64) {
		var requests atomic.Int64
		as := rest.CopyConfig(config)
		as.Impersonate = rest.ImpersonationConfig{
			UserName: "system:serviceaccount:" + account + ":" + account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
		}
		as.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				requests.Add(1)
				return next.RoundTrip(r)
			})
		})
		clients, err := kube.NewClients(as)
		require.NoError(t, err)
		owners := kube.AskOwners(clients, kube.DefaultKinds())
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { owners.Run(ctx) })
		t.Cleanup(func() { cancel(); running.Wait() })
		return owners, &requests
	}
	owners, requests := ask("gpureceiver-agent")
	require.Eventually(t, func() bool { return len(owners.Of(owned("set-0"))) == 2 }, time.Minute, 10*time.Millisecond)
	for _, name := range []string{"set-1", "set-none"} { // of another UID, and not there
		require.Eventually(t, func() bool { owners.Of(owned(name)); return requests.Load() > 1 }, time.Minute, 10*time.Millisecond)
		assert.Len(t, owners.Of(owned(name)), 1)
	}
	require.Eventually(t, func() bool { return requests.Load() == 3 }, time.Minute, 10*time.Millisecond)
	for range 100 {
		owners.Of(owned("set-1"))
		owners.Of(owned("set-none"))
	}
	owners.Of(owned("set-new"))
	require.Eventually(t, owners.Synced, time.Minute, 10*time.Millisecond)
	assert.Equal(t, int64(4), requests.Load(), "of those that were requested already, none is requested again")
	assert.Len(t, owners.Of(owned("set-0")), 2)
	assert.Empty(t, owners.Errs())

	refused, _ := ask("gpureceiver-cluster")
	require.Eventually(t, func() bool { refused.Of(owned("set-0")); return len(refused.Errs()) == 1 }, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, refused.Errs()[0], `cannot get resource "replicasets" in API group "apps"`)
	require.ErrorContains(t, refused.Errs()[0], "grant get on replicasets.apps")
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// accesses are the permissions that accounts must or must not have. Without a namespace a permission applies to all of them.
var accesses = []struct {
	account, title string
	allowed        bool
}{
	{"gpureceiver-agent", "list pods", true},
	{"gpureceiver-agent", "get replicasets.apps", true},
	{"gpureceiver-agent", "list replicasets.apps", false},
	{"gpureceiver-agent", "watch replicasets.apps", false},
	{"gpureceiver-agent", "get jobs.batch", true},
	{"gpureceiver-agent", "list jobs.batch", false},
	{"gpureceiver-agent", "get deployments.apps", false},
	{"gpureceiver-agent", "list resourceslices.resource.k8s.io", true},
	{"gpureceiver-agent", "get resourceclaims.resource.k8s.io", true},
	{"gpureceiver-agent", "list resourceclaims.resource.k8s.io", false},
	{"gpureceiver-agent", "list nodes", false},
	{"gpureceiver-agent", "patch nodes", false},
	{"gpureceiver-agent", "patch nodes/status", false},
	{"gpureceiver-agent", "create events in default", false},
	{"gpureceiver-agent", "list secrets", false},
	{"gpureceiver-agent", "create pods/exec in gpu-operator", false},
	{"gpureceiver-agent", "get nodes/proxy", false},
	{"gpureceiver-cluster", "watch pods", true},
	{"gpureceiver-cluster", "list nodes", true},
	{"gpureceiver-cluster", "list configmaps in gpureceiver-cluster", false},
	{"gpureceiver-cluster", "get pods/log", false},
	{"gpureceiver-exec", "watch pods in gpu-operator", true},
	{"gpureceiver-exec", "get pods/exec in gpu-operator", true},
	{"gpureceiver-exec", "create pods/exec in gpu-operator", true},
	{"gpureceiver-exec", "create pods/exec in kube-system", false},
	{"gpureceiver-exec", "get pods/exec", false},
	{"gpureceiver-exec", "create pods in gpu-operator", false},
	{"gpureceiver-exec", "get pods in gpu-operator", false},
	{"gpureceiver-exec", "watch nodes", true},
	{"gpureceiver-exec", "get nodes", false},
	{"gpureceiver-exec", "list jobs.batch", true},
	{"gpureceiver-exec", "update leases.coordination.k8s.io in gpureceiver-exec", true},
	{"gpureceiver-exec", "update leases.coordination.k8s.io in kube-system", false},
	{"gpureceiver-exec", "list secrets in gpureceiver-exec", false},
}

// apply creates an object exactly as the manifest has it; a field unknown to the API server is an error.
func apply(t *testing.T, client dynamic.Interface, o *object) {
	t.Helper()
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(o.text), &fields))
	resource, _ := meta.UnsafeGuessKindToResource(o.typed.GetObjectKind().GroupVersionKind())
	options := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
	into := client.Resource(resource)
	var err error
	if o.GetNamespace() == "" {
		_, err = into.Create(t.Context(), &unstructured.Unstructured{Object: fields}, options)
	} else {
		_, err = into.Namespace(o.GetNamespace()).Create(t.Context(), &unstructured.Unstructured{Object: fields}, options)
	}
	require.NoError(t, err, "%s %s", resource.Resource, o.GetName())
}
