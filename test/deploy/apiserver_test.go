// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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
	"github.com/otelgpu/gpureceiver/test/collector/harness"
)

// realAPIServer starts an etcd and a kube-apiserver, as built by the end-to-end test, and returns the administrator's access. Nothing runs
// beside them: no pod is ever started.
func realAPIServer(t *testing.T) *rest.Config {
	t.Helper()
	cache := os.Getenv("E2E_CACHE")
	if cache == "" {
		cache = filepath.Join(root, ".tools", "kubernetes")
	}
	bin, err := filepath.Abs(filepath.Join(cache, "bin"))
	require.NoError(t, err)
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if !exists(filepath.Join(bin, name)) {
			t.Skip("there is no " + name + " to try the manifests on; test/kubernetes/build.sh builds it")
		}
	}
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(key)
	require.NoError(t, err)
	keyFile, tokenFile := filepath.Join(dir, "sa.key"), filepath.Join(dir, "tokens.csv")
	require.NoError(t, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	require.NoError(t, os.WriteFile(tokenFile, []byte("test-of-manifests,admin,1,system:masters\n"), 0o600))
	client, peer, secure := freePort(t), freePort(t), freePort(t)
	background(t, filepath.Join(bin, "etcd"), "--data-dir="+filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls=http://127.0.0.1:"+client, "--advertise-client-urls=http://127.0.0.1:"+client,
		"--listen-peer-urls=http://127.0.0.1:"+peer)
	background(t, filepath.Join(bin, "kube-apiserver"), "--etcd-servers=http://127.0.0.1:"+client, "--bind-address=127.0.0.1",
		"--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none", "--secure-port="+secure, "--cert-dir="+dir, "--authorization-mode=RBAC", "--token-auth-file="+tokenFile,
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+keyFile,
		"--service-account-signing-key-file="+keyFile, "--service-cluster-ip-range=10.96.0.0/24")
	return &rest.Config{
		Host: "https://127.0.0.1:" + secure, BearerToken: "test-of-manifests", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // it has signed its certificate itself
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	address, err := harness.FreeAddress()
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

// background runs a program until the test ends.
func background(t *testing.T, program string, args ...string) {
	t.Helper()
	var out strings.Builder
	command := exec.Command(program, args...) //nolint:noctx // it is killed below
	command.Stdout, command.Stderr = &out, &out
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			lines := strings.Split(out.String(), "\n")
			t.Log(filepath.Base(program), strings.Join(lines[max(0, len(lines)-20):], "\n"))
		}
	})
}

// A real API server accepts all manifests, its pod security admission accepts the pods at the level of their namespaces, and each account
// has exactly the rights that it needs.
func TestRealAPIServer(t *testing.T) {
	t.Parallel()
	objects := slices.Concat(
		build(t, with(t, "agent", "nvidia-runtime", "amd-fdinfo", "owners", "dra", "telemetry-otlp")),
		build(t, filepath.Join(manifests, "cluster")), build(t, filepath.Join(manifests, "exec-sharded")),
	)
	rights := build(t, filepath.Join(manifests, "exec-driver-pods"))
	config := realAPIServer(t)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "kube-system", metav1.GetOptions{})
		if err == nil {
			break
		}
		require.Less(t, time.Since(began), 3*time.Minute, err)
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
		verb, rest, _ := strings.Cut(c.what, " ")
		resource, namespace, _ := strings.Cut(rest, " in ")
		resource, subresource, _ := strings.Cut(resource, "/")
		resource, group, _ := strings.Cut(resource, ".")
		review, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "system:serviceaccount:" + c.account + ":" + c.account, Groups: []string{"system:serviceaccounts", "system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: group, Resource: resource, Subresource: subresource, Namespace: namespace,
				},
			},
		}, metav1.CreateOptions{})
		require.NoError(t, err)
		assert.Equal(t, c.allowed, review.Status.Allowed, "%s: %s: %s", c.account, c.what, review.Status.Reason)
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

// checkAsked checks whether the agent's account may query an owner, and what is reported where another account may not.
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
	assert.Never(t, func() bool { owners.Of(owned("set-1")); owners.Of(owned("set-none")); return requests.Load() > 3 }, 3*time.Second, 10*time.Millisecond)
	assert.Len(t, owners.Of(owned("set-0")), 2)
	assert.Empty(t, owners.Errs())

	refused, _ := ask("gpureceiver-cluster") // not owners: the condition above may still run
	require.Eventually(t, func() bool { refused.Of(owned("set-0")); return len(refused.Errs()) == 1 }, time.Minute, 10*time.Millisecond)
	require.ErrorContains(t, refused.Errs()[0], `cannot get resource "replicasets" in API group "apps"`)
	require.ErrorContains(t, refused.Errs()[0], "grant get on replicasets.apps")
}

type trip func(*http.Request) (*http.Response, error)

func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// accesses are the rights that accounts must or must not have. Without a namespace a right applies to all of them.
var accesses = []struct {
	account, what string
	allowed       bool
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

// apply creates an object as it stands in the manifest; a field unknown to the API server is an error.
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
