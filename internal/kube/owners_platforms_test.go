// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// platform is a framework whose pods have owners of its own kinds.
type platform struct {
	Platform string   // the framework, and which of its pods
	Source   []string // the place in which the framework sets the owners
	Chain    []string // "apiVersion kind name", from the pod's direct owner to the topmost one

	Workload string            // "kind name" with the kinds of config/overlays/owner-kinds.yaml
	Default  string            // the same with the default kinds
	Owners   map[string]string // names by attribute: the attributes of the conventions' kinds, with the former kinds
}

func platforms(t testing.TB) []platform {
	t.Helper()
	text, err := os.ReadFile("testdata/owners_platforms.yaml")
	require.NoError(t, err)
	var rows []platform
	require.NoError(t, yaml.UnmarshalStrict(text, &rows))
	require.NotEmpty(t, rows)
	return rows
}

// usualKinds are the kinds of the shipped overlay.
func usualKinds(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("../../config/overlays/owner-kinds.yaml")
	require.NoError(t, err)
	var config struct {
		Receivers struct {
			GPU struct {
				Attribution struct {
					Owners struct{ Kinds []string }
				}
			}
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	require.NotEmpty(t, config.Receivers.GPU.Attribution.Owners.Kinds)
	return config.Receivers.GPU.Attribution.Owners.Kinds
}

// references returns the references to the owners of a chain.
func (p *platform) references(t testing.TB) []metav1.OwnerReference {
	t.Helper()
	var references []metav1.OwnerReference
	for _, owner := range p.Chain {
		part := strings.Fields(owner)
		require.Len(t, part, 3, owner)
		yes := true
		references = append(references, metav1.OwnerReference{
			APIVersion: part[0], Kind: part[1], Name: part[2], UID: types.UID(part[0] + part[1] + part[2]), Controller: &yes,
		})
	}
	return references
}

// objects returns the owners, each owned by the next one.
func objects(references []metav1.OwnerReference) []runtime.Object {
	var result []runtime.Object
	for i, r := range references {
		object := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: r.APIVersion, Kind: r.Kind},
			ObjectMeta: metav1.ObjectMeta{Namespace: "ml", Name: r.Name, UID: r.UID},
		}
		if i+1 < len(references) {
			object.OwnerReferences = references[i+1 : i+2]
		}
		result = append(result, object)
	}
	return result
}

// resolveOf serves the kinds of these owners, as an API server of the framework does.
func resolveOf(references []metav1.OwnerReference) resolveFunc {
	return func(_ context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
		for i := range references {
			gv, err := schema.ParseGroupVersion(references[i].APIVersion)
			if err != nil {
				return nil, err
			}
			gvk := gv.WithKind(references[i].Kind)
			if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.GroupResource() == resource {
				return mapped(resource, gvk.Version, gvk.Kind, true), nil
			}
		}
		return nil, errNotServed
	}
}

// ownersOf returns the owners of a pod whose direct owner is the first of these, with an agent that reads the kinds, or agentless.
func ownersOf(t *testing.T, asks bool, kinds []string, references []metav1.OwnerReference) []gpu.Owner {
	t.Helper()
	c := &cluster{metadata: newMetadata(t, objects(references)...)}
	clients := &Clients{Kubernetes: fake.NewClientset(), Metadata: c.metadata}
	if asks {
		c.ask(clients, kinds)
		c.lookups.resolve = resolveOf(references)
	} else {
		c.owners = WatchOwners(clients, kinds)
		c.watched = watchedBy(c.owners, resolveOf(references))
	}
	c.run(t)
	eventually(t, c.owners.Synced)
	got := c.ownersOf(t, ownedBy(references[0]))
	assert.Empty(t, c.owners.Errs())
	return got
}

// What a person has deployed is found above the pods of each framework, with the kinds of the shipped part.
func TestOwnersOfPlatforms(t *testing.T) {
	usual := usualKinds(t)
	for _, p := range platforms(t) {
		t.Run(p.Platform, func(t *testing.T) {
			require.NotEmpty(t, p.Source)
			references := p.references(t)
			for _, asks := range []bool{true, false} {
				got := ownersOf(t, asks, usual, references)
				assert.Equal(t, p.Workload, workload(got))
				assert.Equal(t, p.Owners, conventional(got))
				assert.Equal(t, p.Default, workload(ownersOf(t, asks, DefaultKinds(), references)))
			}
		})
	}
}

func workload(owners []gpu.Owner) string {
	top := owners[len(owners)-1]
	return top.Kind + " " + top.Name
}

// conventional returns the names of the owners of the kinds that the conventions have, by attribute.
func conventional(owners []gpu.Owner) map[string]string {
	var names map[string]string
	for kind, owner := range gpu.NearestOwners(owners) {
		if owner != nil {
			if names == nil {
				names = make(map[string]string)
			}
			names[gpu.OwnerKind(kind).NameAttribute()] = owner.Name
		}
	}
	return names
}
