// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// known returns the mapping of kinds that need no lookup: they have had one version for years.
func known(resource schema.GroupResource) (*meta.RESTMapping, bool) {
	var version, kind string
	switch resource.String() {
	case "replicasets.apps":
		version, kind = "v1", "ReplicaSet"
	case "deployments.apps":
		version, kind = "v1", "Deployment"
	case "statefulsets.apps":
		version, kind = "v1", "StatefulSet"
	case "daemonsets.apps":
		version, kind = "v1", "DaemonSet"
	case "jobs.batch":
		version, kind = "v1", "Job"
	case "cronjobs.batch":
		version, kind = "v1", "CronJob"
	case "replicationcontrollers":
		version, kind = "v1", "ReplicationController"
	case "pods":
		version, kind = "v1", "Pod"
	default:
		return nil, false
	}
	return mapped(resource, version, kind, true), true
}

func mapped(resource schema.GroupResource, version, kind string, namespaced bool) *meta.RESTMapping {
	scope := meta.RESTScopeRoot
	if namespaced {
		scope = meta.RESTScopeNamespace
	}
	gv := schema.GroupVersion{Group: resource.Group, Version: version}
	return &meta.RESTMapping{Resource: gv.WithResource(resource.Resource), GroupVersionKind: gv.WithKind(kind), Scope: scope}
}

// resolveFunc looks up the version and the kind of a resource, and whether it has namespaces.
type resolveFunc func(context.Context, schema.GroupResource) (*meta.RESTMapping, error)

// errNotServed: the API server does not serve a kind, so there are no objects of it.
var errNotServed = errors.New("the API server does not serve it")

// discoverer looks up how an API server serves a resource.
type discoverer struct{ client discovery.DiscoveryInterface }

// resolver returns what looks up kinds by the discovery API of a cluster.
func resolver(clients *Clients) resolveFunc {
	return (&discoverer{client: clients.Kubernetes.Discovery()}).resolve
}

// resolve returns the version, the kind and the scope of a resource, or errNotServed.
func (d *discoverer) resolve(ctx context.Context, resource schema.GroupResource) (*meta.RESTMapping, error) {
	if mapping, ok := known(resource); ok {
		return mapping, nil
	}
	versions, err := d.versions(ctx, resource.Group)
	if apierrors.IsNotFound(err) {
		return nil, errNotServed
	}
	if err != nil {
		return nil, err
	}
	for _, version := range versions {
		var list metav1.APIResourceList
		if err := d.get(ctx, groupPath(schema.GroupVersion{Group: resource.Group, Version: version}), &list); err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			if served := &list.APIResources[i]; served.Name == resource.Resource {
				return mapped(resource, version, served.Kind, served.Namespaced), nil
			}
		}
	}
	return nil, errNotServed
}

// NotServed returns the kinds (resource.group) among kinds that the API server does not serve. They may be misspelt, or the software that
// defines them is not installed. It returns what it found before an error.
func NotServed(ctx context.Context, clients *Clients, kinds []string) ([]string, error) {
	d := &discoverer{client: clients.Kubernetes.Discovery()}
	var unserved []string
	for _, kind := range kinds {
		_, err := d.resolve(ctx, schema.ParseGroupResource(kind))
		switch {
		case errors.Is(err, errNotServed):
			unserved = append(unserved, kind)
		case err != nil:
			return unserved, fmt.Errorf("kube: check whether the API server serves %s: %w", kind, err)
		}
	}
	return unserved, nil
}

// versions returns the versions of a group, the preferred one first.
func (d *discoverer) versions(ctx context.Context, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	var served metav1.APIGroup
	if err := d.get(ctx, "/apis/"+group, &served); err != nil {
		return nil, err
	}
	versions := []string{served.PreferredVersion.Version}
	for _, version := range served.Versions {
		if version.Version != versions[0] {
			versions = append(versions, version.Version)
		}
	}
	return versions, nil
}

func groupPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// get requests a document directly, because the methods of the discovery client take no context.
func (d *discoverer) get(ctx context.Context, path string, into any) error {
	data, err := d.client.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("parse %s: %w", path, err)
	}
	return nil
}
