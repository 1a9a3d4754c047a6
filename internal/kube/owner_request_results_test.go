// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ask returns owners by single requests, with a constant clock and time for an answer.
func (c *cluster) ask(clients *Clients, kinds []string) {
	start := time.Now()
	c.owners = AskOwners(clients, kinds)
	c.lookups = c.owners.ownerSource.(*askedOwners) //nolint:forcetypeassert // it is
	c.lookups.timeout = time.Minute
	c.lookups.now = func() time.Time { return start.Add(time.Duration(c.now.Load()) * time.Second) }
}

// pass advances the clock.
func (c *cluster) pass(d time.Duration) { c.now.Add(int64(d / time.Second)) }

func (a *askedOwners) size() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.known)
}

// newAsked returns a cluster whose owners are requested one by one.
func newAsked(t *testing.T, kinds []string, objects ...runtime.Object) *cluster {
	t.Helper()
	c := prepareAsked(t, kinds, objects...).run(t)
	eventually(t, c.lookups.Synced)
	return c
}

// prepareAsked returns it before any request.
func prepareAsked(t *testing.T, kinds []string, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{metadata: newMetadata(t, objects...)}
	c.ask(&Clients{Kubernetes: fake.NewClientset(), Metadata: c.metadata}, kinds)
	c.lookups.resolve = resolveServed
	return c
}

// requests returns the requests so far.
func (c *cluster) requests() []string {
	var requests []string
	for _, action := range c.metadata.Actions() {
		get, ok := action.(clienttesting.GetAction)
		if !ok {
			requests = append(requests, action.GetVerb())
			continue
		}
		requests = append(requests, strings.TrimSpace(fmt.Sprint(get.GetVerb(), " ", get.GetResource().Resource, " ", get.GetNamespace(), "/", get.GetName())))
	}
	slices.Sort(requests)
	return requests
}

// An owner is requested once, however many pods it owns and however many reads there are. An owner of an unwanted kind is not requested.
func TestOwnerRequestedOnce(t *testing.T) {
	c := newAsked(t, append(slices.Clone(defaultKinds), "clusterthings.ray.io"),
		object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")),
		object("batch/v1", "Job", "night-1", reference("batch/v1", "CronJob", "night")),
		&metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "ray.io/v1", Kind: "ClusterThing"},
			ObjectMeta: metav1.ObjectMeta{Name: "global", UID: "uid-global"},
		},
	)
	web := reference("apps/v1", "ReplicaSet", "web-1")
	global := []metav1.OwnerReference{reference("ray.io/v1", "ClusterThing", "global")}
	pods := []*Pod{
		ownedBy(web),
		{Namespace: "ml", Name: "q", Owners: []metav1.OwnerReference{web}},
		ownedBy(reference("batch/v1", "Job", "night-1")),
		ownedBy(reference("apps/v1", "StatefulSet", "db")),
		ownedBy(reference("apps/v1", "DaemonSet", "ds")),
		ownedBy(),
		ownedBy(global...),
		{Namespace: "other", Owners: global},
	}
	assert.Empty(t, c.requests(), "nothing before a pod is looked up")
	assert.True(t, c.owners.Synced())
	for range 3 {
		for _, pod := range pods {
			c.ownersOf(t, pod)
		}
		c.pass(keepOwner - time.Second)
	}
	want := []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}
	assert.Equal(t, want, c.owners.Of(pods[0]))
	assert.Equal(t, want, c.owners.Of(pods[1]))
	assert.Equal(t, []string{"get clusterthings /global", "get jobs ml/night-1", "get replicasets ml/web-1"}, c.requests())
	assert.Empty(t, c.owners.Errs())
}

// An owner that is gone, or whose name another object has now, ends the walk. It is requested again, but not at each read.
func TestOwnerDeleted(t *testing.T) {
	c := newAsked(t, defaultKinds, object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")))
	old := reference("apps/v1", "ReplicaSet", "web-1")
	old.UID = "old"
	for name, pod := range map[string]*Pod{
		"get replicasets ml/web-0": ownedBy(reference("apps/v1", "ReplicaSet", "web-0")), "get replicasets ml/web-1": ownedBy(old),
	} {
		c.metadata.ClearActions()
		for range 3 {
			assert.Len(t, c.ownersOf(t, pod), 1, name)
		}
		assert.Equal(t, []string{name}, c.requests())
		c.pass(goneDelay)
		assert.Len(t, c.ownersOf(t, pod), 1, name)
		assert.Equal(t, []string{name, name}, c.requests())
	}
	assert.Empty(t, c.owners.Errs())
	assert.Len(t, c.ownersOf(t, ownedBy(reference("apps/v1", "ReplicaSet", "web-1"))), 2, "the one with that UID")
}

// A failure is reported with its remedy, is tried again less and less often, and ends after a success.
func TestOwnerRequestFails(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "replicasets"}
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"not granted": {
			apierrors.NewForbidden(resource, "web-1", errors.New("no right")),
			`kube: get replicasets.apps ml/web-1: replicasets.apps "web-1" is forbidden: no right; grant get on replicasets.apps; until then the owners above are unknown`,
		},
		"not known": {apierrors.NewUnauthorized("who"), "kube: get replicasets.apps ml/web-1: who; check the credentials"},
		"away": {
			errors.New("connection refused"),
			"kube: get replicasets.apps ml/web-1: connection refused; its owners are unknown until the API server answers",
		},
		"broken": {
			apierrors.NewInternalError(errors.New("etcd")),
			"kube: get replicasets.apps ml/web-1: Internal error occurred: etcd; its owners are unknown until the API server answers",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newAsked(t, defaultKinds,
				object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")),
				object("batch/v1", "Job", "night-1", reference("batch/v1", "CronJob", "night")))
			fails := true // read and written while there are no requests
			c.metadata.PrependReactor("get", "replicasets", func(clienttesting.Action) (bool, runtime.Object, error) { return fails, nil, tt.err })
			pod := ownedBy(reference("apps/v1", "ReplicaSet", "web-1"))
			assert.Len(t, c.ownersOf(t, pod), 1)
			require.Len(t, c.owners.Errs(), 1)
			require.EqualError(t, c.owners.Errs()[0], tt.want)
			assert.Len(t, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "night-1"))), 2, "the other kind")
			require.Len(t, c.owners.Errs(), 1)
			c.metadata.ClearActions()
			for range 3600 / 5 {
				c.pass(5 * time.Second)
				c.ownersOf(t, pod)
			}
			assert.InDelta(t, 3600/150, len(c.requests()), 10, "an hour, with two to three minutes in between")
			c.metadata.ClearActions()
			fails = false
			c.pass(longestDelay + longestDelay/2)
			assert.Equal(t, []gpu.Owner{owner("ReplicaSet", "web-1"), owner("Deployment", "web")}, c.ownersOf(t, pod))
			assert.Empty(t, c.owners.Errs())
			assert.Len(t, c.requests(), 1)
		})
	}
}

// A failure ends when no pod in use has the owner any more.
func TestOwnerRequestFailsPermanently(t *testing.T) {
	c := newAsked(t, defaultKinds)
	c.metadata.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("no") })
	for i := range 3 {
		c.ownersOf(t, ownedBy(reference("apps/v1", "ReplicaSet", fmt.Sprint("web-", i))))
		c.ownersOf(t, ownedBy(reference("batch/v1", "Job", fmt.Sprint("job-", i))))
	}
	require.Len(t, c.owners.Errs(), 2, "one of each kind")
	require.ErrorContains(t, c.owners.Errs()[0], "jobs.batch ml/job-0")
	require.ErrorContains(t, c.owners.Errs()[1], "replicasets.apps ml/web-0")
	c.pass(keepOwner + time.Second)
	assert.Empty(t, c.owners.Errs())
}

// An owner that is not looked up any more is forgotten, and requested again when it is.
func TestOwnerRequestCacheExpires(t *testing.T) {
	c := newAsked(t, defaultKinds,
		object("apps/v1", "ReplicaSet", "web-1", reference("apps/v1", "Deployment", "web")),
		object("apps/v1", "ReplicaSet", "web-2", reference("apps/v1", "Deployment", "web")))
	first, second := ownedBy(reference("apps/v1", "ReplicaSet", "web-1")), ownedBy(reference("apps/v1", "ReplicaSet", "web-2"))
	c.ownersOf(t, first)
	c.ownersOf(t, second)
	c.pass(keepOwner - time.Minute)
	c.ownersOf(t, second)
	c.pass(2 * time.Minute)
	assert.Empty(t, c.owners.Errs(), "which is asked at each read, and forgets")
	assert.Equal(t, 1, c.lookups.size())
	assert.Len(t, c.owners.Of(second), 2)
	assert.Len(t, c.owners.Of(first), 1)
	assert.Len(t, c.ownersOf(t, first), 2)
	assert.Equal(t, []string{"get replicasets ml/web-1", "get replicasets ml/web-1", "get replicasets ml/web-2"}, c.requests())
}

// The known owners and the queue are bounded; what had no room gets it later.
func TestOwnerRequestBound(t *testing.T) {
	var objects []runtime.Object
	for i := range 2 * cap(AskOwners(&Clients{Kubernetes: fake.NewClientset()}, nil).ownerSource.(*askedOwners).queue) { //nolint:forcetypeassert // it is
		objects = append(objects, object("batch/v1", "Job", fmt.Sprint("j", i), reference("batch/v1", "CronJob", "c")))
	}
	c := prepareAsked(t, defaultKinds, objects...)
	job := func(i int) *Pod { return ownedBy(reference("batch/v1", "Job", fmt.Sprint("j", i))) }
	for i := range 2 * maxOwners {
		c.owners.Of(job(i))
	}
	assert.Equal(t, maxOwners, c.lookups.size())
	assert.Len(t, c.lookups.queue, cap(c.lookups.queue))
	c.run(t)
	for i := range objects {
		assert.Len(t, c.ownersOf(t, job(i)), 2, i)
	}
	assert.Len(t, c.requests(), len(objects))

	c.ownersOf(t, job(2*maxOwners))
	assert.Len(t, c.requests(), len(objects), "there is no place for it")
	c.pass(keepOwner + time.Second)
	c.ownersOf(t, job(2*maxOwners))
	assert.Len(t, c.requests(), len(objects)+1)
	assert.Equal(t, 1, c.lookups.size())
}

// A pod can claim any owner. That neither shows it the owners of an object in another namespace nor makes any other request.
func TestForgedOwner(t *testing.T) {
	c := newAsked(t, defaultKinds, object("batch/v1", "Job", "a", reference("batch/v1", "CronJob", "secret")))
	assert.Len(t, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "a"))), 2)
	assert.Len(t, c.ownersOf(t, &Pod{Namespace: "other", Owners: []metav1.OwnerReference{reference("batch/v1", "Job", "a")}}), 1, "of that UID")
	c.metadata.ClearActions()
	for _, name := range []string{"../../../../api/v1/secrets/s", "..", ".", "a/status", "a%2fstatus", "", strings.Repeat("a", 1000)} {
		forged := reference("batch/v1", "Job", "a")
		forged.Name = name
		assert.Len(t, c.ownersOf(t, ownedBy(forged)), 1, name)
	}
	assert.Empty(t, c.requests())
}

// lookUps has the kinds that were looked up.
type lookUps struct {
	mu    sync.Mutex
	names []string
	err   error // of each; nil: as resolveServed
}

func (l *lookUps) resolve(ctx context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.names = append(l.names, resource.String())
	if l.err != nil {
		return nil, l.err
	}
	return resolveServed(ctx, resource)
}

// results returns the names since the last call, and has further look-ups fail with an error.
func (l *lookUps) results(err error) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := l.names
	slices.Sort(names)
	l.names, l.err = nil, err
	return names
}

// A kind is looked up when an owner of its API group is met. A kind that is not served is not a failure, and is looked up again only if an
// owner of its group has a kind that is not served.
func TestOwnerKindLookup(t *testing.T) {
	l := &lookUps{}
	c := prepareAsked(t, append(slices.Clone(defaultKinds), "pytorchjobs.kubeflow.org", "mpijobs.kubeflow.org", "clusterthings.ray.io"),
		object("batch/v1", "Job", "a", reference("b/v1", "B", "b")),
		object("kubeflow.org/v1", "PyTorchJob", "train", reference("kueue.x-k8s.io/v1", "Workload", "w")),
	)
	c.lookups.resolve = l.resolve
	c.run(t)
	assert.Len(t, c.ownersOf(t, ownedBy(reference("batch/v1", "Job", "a"))), 2)
	assert.Len(t, c.ownersOf(t, ownedBy(reference("argoproj.io/v1alpha1", "Workflow", "w"))), 1)
	assert.Empty(t, l.results(nil))
	for range 3 {
		assert.Len(t, c.ownersOf(t, ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "train"))), 2)
		c.pass(goneDelay)
	}
	assert.Equal(t, []string{"mpijobs.kubeflow.org", "pytorchjobs.kubeflow.org"}, l.results(nil))
	mpi := ownedBy(reference("kubeflow.org/v2beta1", "MPIJob", "m"))
	for range 3 {
		assert.Len(t, c.ownersOf(t, mpi), 1)
	}
	assert.Equal(t, []string{"mpijobs.kubeflow.org"}, l.results(nil))
	c.pass(goneDelay)
	assert.Len(t, c.ownersOf(t, mpi), 1)
	assert.Equal(t, []string{"mpijobs.kubeflow.org"}, l.results(nil), "it may be served by now")
	assert.Empty(t, c.owners.Errs())
}

// A kind that could not be looked up is a failure until it could, or until no owner of its group is met any more.
func TestOwnerKindLookupFails(t *testing.T) {
	l := &lookUps{err: errors.New("connection refused")}
	c := prepareAsked(t, []string{"pytorchjobs.kubeflow.org"}, object("kubeflow.org/v1", "PyTorchJob", "train", reference("kueue.x-k8s.io/v1", "Workload", "w")))
	c.lookups.resolve = l.resolve
	c.run(t)
	pod := ownedBy(reference("kubeflow.org/v1", "PyTorchJob", "train"))
	failed := func() {
		assert.Len(t, c.ownersOf(t, pod), 1)
		require.Len(t, c.owners.Errs(), 1)
		require.EqualError(t, c.owners.Errs()[0], "kube: look up the kind pytorchjobs.kubeflow.org: connection refused; the owners above it are unknown")
	}
	failed()
	assert.Len(t, l.results(errors.New("connection refused")), 1, "one, however often the pod is read")
	c.pass(keepOwner + time.Second)
	assert.Empty(t, c.owners.Errs())
	failed()
	l.results(nil)
	c.pass(longestDelay + longestDelay/2)
	assert.Len(t, c.ownersOf(t, pod), 2)
	assert.Empty(t, c.owners.Errs())
}
