// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// askedKind is a kind whose objects are requested. Which version of it is served is looked up when an owner of its API group is first met:
// a node has pods of few of the frameworks for which kinds are configured, and there may be an agent on each of a thousand nodes.
type askedKind struct {
	attempt

	resource schema.GroupResource
	mapping  *meta.RESTMapping // nil until it was looked up
}

// askedKinds returns the kinds by API group.
func askedKinds(names []string) map[string][]*askedKind {
	kinds := make(map[string][]*askedKind)
	for _, resource := range parseKinds(names) {
		kind := &askedKind{resource: resource}
		if mapping, ok := known(resource); ok {
			kind.mapping, kind.answered = mapping, true
		}
		kinds[resource.Group] = append(kinds[resource.Group], kind)
	}
	return kinds
}

// lookedUp returns a kind if it is one of the requested kinds and was looked up. Otherwise it returns nil, and starts the lookup of the
// kinds of its group that were not.
func (a *askedOwners) lookedUp(kind schema.GroupKind) *askedKind {
	group := a.kinds[kind.Group]
	for _, k := range group {
		if k.answered && k.mapping.GroupVersionKind.Kind == kind.Kind {
			return k
		}
	}
	var last *askedKind // whose version has gone: what is known of its objects stays
	for _, k := range group {
		a.need(&k.attempt, func(ctx context.Context) { a.lookUp(ctx, k) })
		if k.mapping != nil && k.mapping.GroupVersionKind.Kind == kind.Kind {
			last = k
		}
	}
	return last
}

// lookUp looks up in which version a kind is served.
func (a *askedOwners) lookUp(ctx context.Context, kind *askedKind) {
	requested, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	mapping, err := a.resolve(requested, kind.resource)
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err == nil:
		kind.mapping = mapping
		kind.succeeded()
	case errors.Is(err, errNotServed):
		kind.notFound(a.now())
	default:
		kind.failed(a.now(), 0, fmt.Errorf("kube: look up the kind %s: %w%s", kind.resource, err, ownersUnknown))
	}
}

// lost notes that a kind is no longer served in the version that was looked up.
func (k *askedKind) lost() {
	if k.answered {
		k.attempt = attempt{used: k.used}
	}
}
