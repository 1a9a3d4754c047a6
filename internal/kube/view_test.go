// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

func fakeClients(objects ...runtime.Object) (*Clients, *fake.Clientset) {
	client := fake.NewClientset(objects...)
	return &Clients{
		Kubernetes: client,
		Metadata:   metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme()),
		Dynamic:    dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()),
	}, client
}

func TestView(t *testing.T) {
	clients, _ := fakeClients(podObject("a", "u1"))
	v, err := NewView(clients, ViewOptions{Pods: PodsOptions{Node: "n1"}, Devices: true})
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	require.True(t, v.WaitSynced(t.Context()))
	assert.NotNil(t, v.Pods.ByUID("u1"))
	assert.Empty(t, v.Problems())
}

// The owners of a node's pods that request devices are known at the first lookup, for pods that exist already and for new ones. No other
// pod's owners are requested.
func TestOwnersAskedAhead(t *testing.T) {
	owned := func(name, set string, spec corev1.PodSpec) *corev1.Pod {
		pod := podObject(name, name)
		spec.NodeName = "n1"
		pod.Spec, pod.OwnerReferences = spec, []metav1.OwnerReference{reference("apps/v1", "ReplicaSet", set)}
		return pod
	}
	limit := func(resource corev1.ResourceName) []corev1.Container {
		return []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{resource: apiresource.MustParse("1")}}}}
	}
	client := fake.NewClientset(
		owned("plugin", "a", corev1.PodSpec{Containers: limit("nvidia.com/gpu")}),
		owned("init", "b", corev1.PodSpec{InitContainers: limit("amd.com/gpu")}),
		owned("plain", "c", corev1.PodSpec{Containers: limit("memory")}),
	)
	set := func(name string) runtime.Object {
		return object("apps/v1", "ReplicaSet", name, reference("apps/v1", "Deployment", name+"-top"))
	}
	objects := newMetadata(t, set("a"), set("b"), set("c"), set("d"))
	v, err := NewView(&Clients{Kubernetes: client, Metadata: objects}, ViewOptions{Pods: PodsOptions{Node: "n1"}, Kinds: []string{"replicasets.apps"}})
	require.NoError(t, err)
	// The kinds are looked up after the pods were reported, which had no effect.
	asks := v.Owners.ownerSource.(*askedOwners) //nolint:forcetypeassert // it is
	asks.timeout = time.Minute
	asks.resolve = func(ctx context.Context, kind schema.GroupResource) (*meta.RESTMapping, error) {
		for ; !v.Pods.Synced() && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		}
		time.Sleep(20 * time.Millisecond)
		return resolveServed(ctx, kind)
	}
	v.Start()
	defer v.Stop()
	require.True(t, v.WaitSynced(t.Context()))
	for name, want := range map[string]int{"plugin": 2, "init": 2} {
		assert.Len(t, v.Owners.Of(v.Pods.ByUID(name)), want, name)
	}

	requests := func() (names []string) {
		for _, action := range objects.Actions() {
			if get, ok := action.(clienttesting.GetAction); ok {
				names = append(names, get.GetName())
			}
		}
		return names
	}
	_, err = client.CoreV1().Pods("ml").Create(t.Context(),
		owned("claim", "d", corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}), metav1.CreateOptions{})
	require.NoError(t, err)
	eventually(t, func() bool { return len(requests()) == 3 })
	assert.ElementsMatch(t, []string{"a", "b", "d"}, requests())
}

func TestViewNeverSynced(t *testing.T) {
	clients, client := fakeClients()
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("connection refused")
	})
	v, err := NewView(clients, ViewOptions{})
	require.NoError(t, err)
	v.Start()
	defer v.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.False(t, v.WaitSynced(ctx))
	eventually(t, func() bool { return len(v.Problems()) == 1 })
	assert.Equal(t, "pods", v.Problems()[0].What)
}

func TestViewStopWithoutStart(t *testing.T) {
	clients, _ := fakeClients()
	v, err := NewView(clients, ViewOptions{})
	require.NoError(t, err)
	v.Stop()
}

// An API server that cannot be reached is reported, does not delay the end, and is found when it comes.
func TestViewServerAway(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test's
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())

	clients, err := NewClients(&rest.Config{Host: "http://" + address, QPS: -1})
	require.NoError(t, err)
	v, err := NewView(clients, ViewOptions{Pods: PodsOptions{Node: "n1"}, Kinds: defaultKinds, Devices: true})
	require.NoError(t, err)
	v.Slices.Want()
	v.Start()
	eventually(t, func() bool { return len(v.Problems()) == 2 })
	v.Owners.Of(ownedBy(reference("apps/v1", "ReplicaSet", "web-1")))
	eventually(t, func() bool { return len(v.Problems()) == 3 })
	for _, problem := range v.Problems() {
		require.ErrorContains(t, problem.Err, "connection refused")
	}
	v.Stop()
}

// The whole way with real clients: protobuf and JSON, lists and watches, the owners of one node's pods one by one, the owners of all nodes
// as lists.
func TestViewRealClients(t *testing.T) {
	const all, one = "/apis/apps/v1/replicasets", "/apis/apps/v1/namespaces/ml/replicasets/web-1"
	for node, paths := range map[string]struct{ want, not string }{"n1": {one, all}, "": {all, one}} {
		t.Run("node "+node, func(t *testing.T) {
			pod := podObject("a", "u1")
			pod.OwnerReferences = []metav1.OwnerReference{reference("apps/v1", "ReplicaSet", "web-1")}
			pods := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Pod{*pod}}
			replicaSet := object("meta.k8s.io/v1", "PartialObjectMetadata", "web-1", reference("apps/v1", "Deployment", "web"))
			sets := &metav1.PartialObjectMetadataList{
				TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"},
				ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []metav1.PartialObjectMetadata{*replicaSet},
			}
			var requests sync.Map
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Store(r.URL.Path, r.URL.Query().Get("fieldSelector")+" "+r.Header.Get("Accept"))
				w.Header().Set("Content-Type", "application/json")
				switch {
				case r.URL.Query().Get("watch") != "":
					w.WriteHeader(http.StatusOK)
					w.(http.Flusher).Flush() //nolint:forcetypeassert // the server's own
					<-r.Context().Done()
				case r.URL.Path == "/api/v1/pods":
					_ = json.NewEncoder(w).Encode(pods)
				case r.URL.Path == all:
					_ = json.NewEncoder(w).Encode(sets)
				case r.URL.Path == one:
					_ = json.NewEncoder(w).Encode(replicaSet)
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			clients, err := NewClients(&rest.Config{Host: server.URL, QPS: -1})
			require.NoError(t, err)
			v, err := NewView(clients, ViewOptions{Pods: PodsOptions{Node: node}, Kinds: []string{"replicasets.apps"}})
			require.NoError(t, err)
			v.Start()
			defer v.Stop()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.True(t, v.WaitSynced(ctx), v.Problems())
			got := v.Pods.ByUID("u1")
			require.NotNil(t, got)
			eventually(t, func() bool { return len(v.Owners.Of(got)) == 2 })
			assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}, v.Owners.Of(got))

			query, _ := requests.Load("/api/v1/pods")
			if node != "" {
				assert.Contains(t, query, "spec.nodeName=n1")
			}
			assert.Contains(t, query, " application/vnd.kubernetes.protobuf")
			query, _ = requests.Load(paths.want)
			assert.Contains(t, query, "as=PartialObjectMetadata", "metadata alone, one, listed (…List) or watched")
			_, ok := requests.Load(paths.not)
			assert.False(t, ok)
		})
	}
}

// eventually waits for the state of an informer.
func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond)
}
