// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// The kinds that an API server with Kubeflow and Ray serves.
var served = map[string]schema.GroupVersionKind{
	"replicasets.apps":         {Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	"deployments.apps":         {Group: "apps", Version: "v1", Kind: "Deployment"},
	"jobs.batch":               {Group: "batch", Version: "v1", Kind: "Job"},
	"pytorchjobs.kubeflow.org": {Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"},
	"clusterthings.ray.io":     {Group: "ray.io", Version: "v1", Kind: "ClusterThing"},
}

func resolveServed(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
	gvk, ok := served[resource.String()]
	if !ok {
		return nil, errNotServed
	}
	return mapped(resource, gvk.Version, gvk.Kind, gvk.Kind != "ClusterThing"), nil
}

// reference returns a reference to an owner. Its UID is "uid-" and the name.
func reference(apiVersion, kind, name string) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: &yes}
}

func object(apiVersion, kind, name string, owners ...metav1.OwnerReference) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: apiVersion, Kind: kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ml", Name: name, UID: types.UID("uid-" + name), OwnerReferences: owners,
			Labels: map[string]string{"big": "label"},
		},
	}
}

// versions are the API versions of the kinds, unless a test gives another.
var versions = map[string]string{
	"ReplicaSet": "apps/v1", "Deployment": "apps/v1", "StatefulSet": "apps/v1", "Job": "batch/v1", "CronJob": "batch/v1", "Node": "v1",
	"PyTorchJob": "kubeflow.org/v1", "Workload": "kueue.x-k8s.io/v1", "ClusterThing": "ray.io/v1", "Top": "a/v1",
}

func owner(kind, name string) gpu.Owner {
	return gpu.Owner{APIVersion: versions[kind], Kind: kind, Name: name, UID: "uid-" + name}
}

type cluster struct {
	metadata *metadatafake.FakeMetadataClient
	owners   *Owners
	watched  *watchedOwners // if they are
	lookups  *askedOwners   // if they are
	now      atomic.Int64   // seconds that have passed, for lookups
}

func newMetadata(t *testing.T, objects ...runtime.Object) *metadatafake.FakeMetadataClient {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	return metadatafake.NewSimpleMetadataClient(scheme, objects...)
}

func (c *cluster) run(t *testing.T) *cluster {
	t.Helper()
	pods, err := NewPods(fake.NewClientset(), PodsOptions{})
	require.NoError(t, err)
	v := &View{Pods: pods, Owners: c.owners}
	v.Start()
	t.Cleanup(v.Stop)
	return c
}

// watchedBy returns the source of watched owners. It looks up kinds by resolve, every millisecond until they are served.
func watchedBy(owners *Owners, resolve resolveFunc) *watchedOwners {
	w := owners.ownerSource.(*watchedOwners) //nolint:forcetypeassert // it is
	for _, kind := range w.kinds {
		kind.resolve, kind.retry = resolve, time.Millisecond
	}
	return w
}

// newCluster returns a cluster whose owners are watched.
func newCluster(t *testing.T, kinds []string, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{metadata: newMetadata(t, objects...)}
	c.owners = WatchOwners(&Clients{Kubernetes: fake.NewClientset(), Metadata: c.metadata}, kinds)
	c.watched = watchedBy(c.owners, resolveServed)
	c.run(t)
	eventually(t, c.owners.Synced)
	return c
}

// ownersOf returns the owners of a pod when no more can be found: it repeats the lookup if owners are requested.
func (c *cluster) ownersOf(t *testing.T, pod *Pod) []gpu.Owner {
	t.Helper()
	got := c.owners.Of(pod)
	for range maxDepth {
		if c.lookups == nil {
			break
		}
		eventually(t, c.lookups.Synced)
		got = c.owners.Of(pod)
	}
	return got
}

func ownedBy(references ...metav1.OwnerReference) *Pod {
	return &Pod{Namespace: "ml", Name: "p", Owners: references}
}

var defaultKinds = []string{"replicasets.apps", "jobs.batch"}

func TestOwners(t *testing.T) {
	for name, begin := range clusters {
		t.Run(name, func(t *testing.T) { testOwners(t, begin) })
	}
}

// clusters are one whose owners are watched and one whose owners are requested.
var clusters = map[string]func(*testing.T, []string, ...runtime.Object) *cluster{"watched": newCluster, "asked": newAsked}

func testOwners(t *testing.T, begin func(*testing.T, []string, ...runtime.Object) *cluster) {
	t.Helper()
	c := begin(t, append(slices.Clone(defaultKinds), "pytorchjobs.kubeflow.org", "clusterthings.ray.io"),
		object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")),
		object("batch/v1", "Job", "night-1", reference("batch/v1", "CronJob", "night")),
		object("kubeflow.org/v1", "PyTorchJob", "train", reference("kueue.x-k8s.io/v1", "Workload", "w")),
		&metav1.PartialObjectMetadata{
			TypeMeta: metav1.TypeMeta{APIVersion: "ray.io/v1", Kind: "ClusterThing"},
			ObjectMeta: metav1.ObjectMeta{
				Name: "global", UID: "uid-global", OwnerReferences: []metav1.OwnerReference{reference("a/v1", "Top", "top")},
			},
		},
	)
	no := false
	tests := []struct {
		name string
		pod  *Pod
		want []gpu.Owner
	}{
		{"no owner", ownedBy(), nil},
		{"Deployment", ownedBy(reference("apps/v1", "ReplicaSet", "web-1")), []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}},
		{"CronJob", ownedBy(reference("batch/v1", "Job", "night-1")), []gpu.Owner{owner("Job", "night-1"), owner("CronJob", "night")}},
		{"not read", ownedBy(reference("apps/v1", "StatefulSet", "db")), []gpu.Owner{owner("StatefulSet", "db")}},
		{"custom", ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "train")), []gpu.Owner{owner("PyTorchJob", "train"), owner("Workload", "w")}},
		{"without a namespace", ownedBy(reference("ray.io/v1", "ClusterThing", "global")), []gpu.Owner{owner("ClusterThing", "global"), owner("Top", "top")}},
		{
			"another version", ownedBy(reference("apps/v1beta1", "ReplicaSet", "web-1")),
			[]gpu.Owner{{APIVersion: "apps/v1beta1", Kind: "ReplicaSet", Name: "web-1", UID: "uid-web-1"}, owner("Deployment", "web")},
		},
		{
			"same kind, another group", ownedBy(reference("other.io/v1", "ReplicaSet", "web-1")),
			[]gpu.Owner{{APIVersion: "other.io/v1", Kind: "ReplicaSet", Name: "web-1", UID: "uid-web-1"}},
		},
		{"gone", ownedBy(reference("apps/v1", "ReplicaSet", "web-0")), []gpu.Owner{owner("ReplicaSet", "web-0")}},
		{"the controller among several", ownedBy(
			metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "cm", UID: "uid-cm", Controller: &no},
			reference("batch/v1", "Job", "night-1"),
		), []gpu.Owner{owner("Job", "night-1"), owner("CronJob", "night")}},
		{"no controller", ownedBy(metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n1", UID: "uid-n1"}), []gpu.Owner{owner("Node", "n1")}},
		{"garbage", ownedBy(metav1.OwnerReference{APIVersion: "a/b/c", Kind: "X", Name: "x", UID: "uid-x"}), []gpu.Owner{{APIVersion: "a/b/c", Kind: "X", Name: "x", UID: "uid-x"}}},
		{
			"same name, another UID", ownedBy(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "old"}),
			[]gpu.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "old"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, c.ownersOf(t, tt.pod))
		})
	}
	assert.Empty(t, c.owners.Errs())
}

// The immediate owner is in the pod and needs no request.
func TestOwnersWithoutKinds(t *testing.T) {
	var none *Owners
	pod := ownedBy(reference("apps/v1", "ReplicaSet", "web-1"))
	assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1")}, none.Of(pod))
	assert.Nil(t, none.Of(ownedBy()))
	assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1")}, newCluster(t, nil).owners.Of(pod))
}

func TestOwnersCycle(t *testing.T) {
	for name, begin := range clusters {
		t.Run(name, func(t *testing.T) {
			c := begin(t, defaultKinds,
				object("batch/v1", "Job", "a", reference("batch/v1", "Job", "b")),
				object("batch/v1", "Job", "b", reference("batch/v1", "Job", "a")),
				object("batch/v1", "Job", "self", reference("batch/v1", "Job", "self")),
			)
			assert.Equal(t, []gpu.Owner{owner("Job", "a"), owner("Job", "b")}, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "a"))))
			assert.Equal(t, []gpu.Owner{owner("Job", "self")}, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "self"))))
		})
	}
}

func TestOwnersDepth(t *testing.T) {
	var chain []runtime.Object
	for i := range 3 * maxDepth {
		chain = append(chain, object("batch/v1", "Job", fmt.Sprint("j", i), reference("batch/v1", "Job", fmt.Sprint("j", i+1))))
	}
	for name, begin := range clusters {
		t.Run(name, func(t *testing.T) {
			c := begin(t, defaultKinds, chain...)
			assert.Len(t, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "j0"))), maxDepth)
		})
	}
}

// A pod may be seen before its owner, and an owner may be adopted later: a watch shows it.
func TestOwnersAppearLater(t *testing.T) {
	c := newCluster(t, defaultKinds)
	pod := ownedBy(reference("apps/v1", "ReplicaSet", "web-1"))
	assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1")}, c.owners.Of(pod))

	replicaSets := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	client, ok := c.metadata.Resource(replicaSets).Namespace("ml").(metadatafake.MetadataClient)
	require.True(t, ok)
	_, err := client.CreateFake(object("apps/v1", "ReplicaSet", "web-1"), metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = client.UpdateFake(object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")), metav1.UpdateOptions{})
	require.NoError(t, err)
	want := []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}
	eventually(t, func() bool { return assert.ObjectsAreEqual(want, c.owners.Of(pod)) })
}

// Only names and owners are kept.
func TestOwnersStripped(t *testing.T) {
	c := newCluster(t, defaultKinds, object("batch/v1", "Job", "a"))
	stored, ok, err := c.watched.informerOf(schema.GroupKind{Group: "batch", Kind: "Job"}).GetIndexer().GetByKey("ml/a")
	require.NoError(t, err)
	require.True(t, ok)
	partial, ok := stored.(*metav1.PartialObjectMetadata)
	require.True(t, ok)
	assert.Nil(t, partial.Labels)
}

// A kind that is not served is not a failure: there is no object of it. It is tried again.
func TestOwnersNotServed(t *testing.T) {
	for name, begin := range clusters {
		t.Run(name, func(t *testing.T) {
			c := begin(t, []string{"jobs.batch", "rayjobs.ray.io"}, object("batch/v1", "Job", "a", reference("b/v1", "B", "b")))
			assert.Len(t, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "a"))), 2)
			assert.Len(t, c.ownersOf(t, ownedBy(reference("ray.io/v1", "RayJob", "a"))), 1)
			assert.Empty(t, c.owners.Errs())
		})
	}
}

// What is watched is looked up until it is served. That it could not be looked up is a failure.
func TestWatchedServedLater(t *testing.T) {
	var answer atomic.Value
	answer.Store(errNotServed)
	c := &cluster{metadata: newMetadata(t, object("kubeflow.org/v1", "PyTorchJob", "train", reference("kueue.x-k8s.io/v1", "Workload", "w")))}
	c.owners = WatchOwners(&Clients{Kubernetes: fake.NewClientset(), Metadata: c.metadata}, []string{"pytorchjobs.kubeflow.org"})
	c.watched = watchedBy(c.owners, func(ctx context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
		if err, ok := answer.Load().(error); ok && err.Error() != "served" {
			return nil, err
		}
		return resolveServed(ctx, resource)
	})
	c.run(t)
	eventually(t, c.owners.Synced)
	pod := ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "train"))
	assert.Len(t, c.owners.Of(pod), 1)
	assert.Empty(t, c.owners.Errs())

	answer.Store(errors.New("connection refused"))
	eventually(t, func() bool { return len(c.owners.Errs()) == 1 })
	require.EqualError(t, c.owners.Errs()[0], "kube: look up the kind pytorchjobs.kubeflow.org: connection refused; the owners above it are unknown")

	answer.Store(errors.New("served"))
	eventually(t, func() bool { return len(c.owners.Of(pod)) == 2 })
	assert.Empty(t, c.owners.Errs())
}

func TestValidateKind(t *testing.T) {
	for _, kind := range []string{"replicasets.apps", "replicationcontrollers", "pytorchjobs.kubeflow.org"} {
		require.NoError(t, ValidateKind(kind), kind)
	}
	for _, kind := range []string{"", "*", "*.apps", "ReplicaSet", "apps/replicasets", ".apps", "a b"} {
		require.Error(t, ValidateKind(kind), kind)
	}
}
