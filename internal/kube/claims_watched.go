// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// RequestedClaim is what a ResourceClaim requests, and how many devices it was given. It never changes after it was handed out.
type RequestedClaim struct {
	metav1.ObjectMeta
	Allocated bool
	Users     int // pods that may use it
	Requests  []DeviceRequest
}

// DeviceRequest is one request of a claim, without those for administration.
type DeviceRequest struct {
	Name  string
	Class string         // name of the DeviceClass. Of alternatives the one that was taken, before that the first of the wanted ones
	Count gpu.Opt[int64] // devices; absent while it is not known: all devices of a class, or alternatives, that were not given yet
}

// WatchedClaims watches the ResourceClaims of a cluster. It reads resource.k8s.io in the version that the API server prefers.
type WatchedClaims struct {
	*servedKind

	client  dynamic.Interface
	wants   func(class string) bool
	changed func(Claim)
}

// WatchClaims returns WatchedClaims of the DeviceClasses that are wanted. They need list and watch on resourceclaims. changed is called, by one
// goroutine, after a claim was added or has changed.
func WatchClaims(clients *Clients, wants func(class string) bool, changed func(Claim)) *WatchedClaims {
	c := &WatchedClaims{client: clients.Dynamic, wants: wants, changed: changed}
	resource := schema.GroupResource{Group: resourceAPI, Resource: "resourceclaims"}
	c.servedKind = newServed(clients, resource, "; pods that request GPUs through claims are unknown", c.informerOf)
	return c
}

func (c *WatchedClaims) informerOf(mapping *meta.RESTMapping) (*Informer, error) {
	informer, err := NewInformer(Paged(c.client.Resource(mapping.Resource), &unstructured.Unstructured{}, cache.Indexers{}, nil), "resourceclaims",
		func(object any) (any, error) {
			if claim, ok := object.(*unstructured.Unstructured); ok {
				return requestedClaim(claim, c.wants), nil
			}
			return object, nil
		})
	if err != nil {
		return nil, err
	}
	changed := func(object any) {
		if claim, ok := object.(*RequestedClaim); ok {
			c.changed(Claim{claim.Namespace, claim.Name})
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, object any) { changed(object) },
	}); err != nil {
		return nil, fmt.Errorf("kube: watch resourceclaims: %w", err)
	}
	return informer, nil
}

// Get returns a claim; nil if it is not known.
func (c *WatchedClaims) Get(claim Claim) *RequestedClaim {
	informer := c.current()
	if informer == nil {
		return nil
	}
	object, _, _ := informer.GetIndexer().GetByKey(claim.Namespace + "/" + claim.Name)
	found, _ := object.(*RequestedClaim)
	return found
}

// requestedClaim returns what is kept of a claim: the requests for wanted classes.
func requestedClaim(claim *unstructured.Unstructured, wants func(class string) bool) *RequestedClaim {
	stored := &RequestedClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: claim.GetNamespace(), Name: claim.GetName(), UID: claim.GetUID(), ResourceVersion: claim.GetResourceVersion(),
	}}
	users, _, _ := unstructured.NestedSlice(claim.Object, "status", "reservedFor")
	stored.Users = len(users)
	counts := make(map[string]int64) // by request, or by request/alternative
	_, stored.Allocated, _ = unstructured.NestedMap(claim.Object, "status", "allocation")
	results, _, _ := unstructured.NestedSlice(claim.Object, "status", "allocation", "devices", "results")
	for _, object := range results {
		result, _ := object.(map[string]any)
		if admin, _ := result["adminAccess"].(bool); !admin {
			request, _ := result["request"].(string)
			counts[request]++
		}
	}
	requests, _, _ := unstructured.NestedSlice(claim.Object, "spec", "devices", "requests")
	for _, object := range requests {
		request, _ := object.(map[string]any)
		name, _ := request["name"].(string)
		found := DeviceRequest{Name: name}
		if alternatives, ok := request["firstAvailable"].([]any); ok {
			found.choose(alternatives, counts, stored.Allocated, wants)
		} else {
			found.exactly(request, counts[name], stored.Allocated)
		}
		if found.Class != "" && wants(found.Class) {
			stored.Requests = append(stored.Requests, found)
		}
	}
	return stored
}

// exactly sets what a request without alternatives is for: under exactly in v1 and v1beta2, beside its name in v1beta1.
func (r *DeviceRequest) exactly(request map[string]any, count int64, allocated bool) {
	if exactly, ok := request["exactly"].(map[string]any); ok {
		request = exactly
	}
	if admin, _ := request["adminAccess"].(bool); admin {
		return
	}
	r.Class, _ = request["deviceClassName"].(string)
	r.Count = exactCount(request)
	if allocated {
		r.Count = gpu.Some(count)
	}
}

// choose sets the alternative that was taken, or the first that may be.
func (r *DeviceRequest) choose(alternatives []any, counts map[string]int64, allocated bool, wants func(class string) bool) {
	for _, object := range alternatives {
		alternative, _ := object.(map[string]any)
		name, _ := alternative["name"].(string)
		class, _ := alternative["deviceClassName"].(string)
		count, ok := counts[r.Name+"/"+name]
		switch {
		case ok:
			r.Class, r.Count = class, gpu.Some(count)
			return
		case !allocated && r.Class == "" && wants(class):
			r.Class = class
		}
	}
}

// exactCount returns the number of devices that a request names. The API server sets the defaults.
func exactCount(request map[string]any) gpu.Opt[int64] {
	if mode, _ := request["allocationMode"].(string); mode != "" && mode != "ExactCount" {
		return gpu.Opt[int64]{}
	}
	count, ok := request["count"].(int64)
	if !ok {
		count = 1
	}
	return gpu.Some(count)
}

// PodClaim is a claim of a pod.
type PodClaim struct {
	Name string // of the ResourceClaim; empty while it is not known: it is made from a template
	Uses []ClaimUse
}

// ClaimUse is a container that has a claim, or the part of it that was given for a request.
type ClaimUse struct {
	Container string
	Request   string // empty: the whole claim
}

// maxPodClaims bounds the claims of a pod, and what uses each. Kubernetes allows 32 claims.
const maxPodClaims = 32

// ClaimsOf returns the claims of a pod, and which of its containers use them that run together: not init containers that end.
func ClaimsOf(pod *corev1.Pod) []PodClaim {
	var claims []PodClaim
	for i := range pod.Spec.ResourceClaims[:min(len(pod.Spec.ResourceClaims), maxPodClaims)] {
		local := pod.Spec.ResourceClaims[i].Name
		claim := PodClaim{Name: strings.Clone(claimName(pod, local))}
		add := func(c *corev1.Container) {
			for _, used := range c.Resources.Claims {
				if used.Name == local && len(claim.Uses) < maxPodClaims {
					claim.Uses = append(claim.Uses, ClaimUse{Container: strings.Clone(c.Name), Request: strings.Clone(used.Request)})
				}
			}
		}
		for j := range pod.Spec.InitContainers {
			if c := &pod.Spec.InitContainers[j]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
				add(c)
			}
		}
		for j := range pod.Spec.Containers {
			add(&pod.Spec.Containers[j])
		}
		claims = append(claims, claim)
	}
	return claims
}
