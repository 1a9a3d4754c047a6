// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Claims tells which devices ResourceClaims were given for administration (adminAccess): to look after them, beside whoever has
// them. The kubelet does not tell. Each claim is asked for once, as what it was given does not change while a pod has it. It is not
// safe for concurrent use.
type Claims struct {
	client   dynamic.Interface
	resolve  resolveFunc
	now      func() time.Time
	resource schema.GroupVersionResource // as it is served; zero before it was looked up
	known    map[Claim]map[ClaimedDevice]bool
	failure  error
	failed   Claim     // of which
	due      time.Time // when to ask again
}

// Claim names a ResourceClaim.
type Claim struct{ Namespace, Name string }

// ClaimedDevice names a device that a claim was given.
type ClaimedDevice struct{ Driver, Pool, Device string }

// retryClaims is how long nothing is asked after a failure.
const retryClaims = time.Minute

// NewClaims prepares the asking for claims. It needs get on resourceclaims.
func NewClaims(clients *Clients) *Claims {
	return &Claims{
		client:  clients.Dynamic,
		resolve: (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		now:     time.Now,
		known:   make(map[Claim]map[ClaimedDevice]bool),
	}
}

// Wants tells whether a claim is to be asked for.
func (c *Claims) Wants(claim Claim) bool {
	_, known := c.known[claim]
	return !known && !c.now().Before(c.due)
}

// Ask asks for a claim.
func (c *Claims) Ask(ctx context.Context, claim Claim) {
	admin, err := c.get(ctx, claim)
	if err != nil {
		c.failure, c.failed, c.due = err, claim, c.now().Add(retryClaims)
		return
	}
	c.known[claim], c.failure = admin, nil
}

// ForAdmin tells whether a claim is known to have been given a device for administration alone.
func (c *Claims) ForAdmin(claim Claim, device ClaimedDevice) bool { return c.known[claim][device] }

// Keep forgets the claims that are not to be kept.
func (c *Claims) Keep(kept func(Claim) bool) {
	maps.DeleteFunc(c.known, func(claim Claim, _ map[ClaimedDevice]bool) bool { return !kept(claim) })
	if c.failure != nil && !kept(c.failed) {
		c.failure = nil
	}
}

// Err tells why claims could not be read of late.
func (c *Claims) Err() error { return c.failure }

func (c *Claims) get(ctx context.Context, claim Claim) (map[ClaimedDevice]bool, error) {
	resource := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceclaims"}
	if c.resource.Empty() {
		mapping, err := c.resolve(ctx, resource)
		if err != nil {
			return nil, fmt.Errorf("kube: look up the kind %s: %w", resource, err)
		}
		c.resource = mapping.Resource
	}
	var later time.Duration // an API server that asks to be left alone is not waited for
	object, err := c.client.Resource(c.resource).Namespace(claim.Namespace).
		Get(context.WithValue(ctx, onceKey{}, &later), claim.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		return forAdmin(object), nil
	case notServed(err):
		c.resource = schema.GroupVersionResource{} // it may be served in another version by now
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	hint := "until it is known, a claim with adminAccess counts as one that holds its devices"
	if apierrors.IsForbidden(err) {
		hint = "grant get on " + resource.String() + "; " + hint
	}
	return nil, fmt.Errorf("kube: get %s %s/%s: %w; %s", resource, claim.Namespace, claim.Name, err, hint)
}

// forAdmin returns the devices that a claim was given for administration, and not to use as well.
func forAdmin(claim *unstructured.Unstructured) map[ClaimedDevice]bool {
	results, _, _ := unstructured.NestedSlice(claim.Object, "status", "allocation", "devices", "results")
	var devices map[ClaimedDevice]bool
	for _, object := range results {
		result, _ := object.(map[string]any)
		var device ClaimedDevice
		device.Driver, _ = result["driver"].(string)
		device.Pool, _ = result["pool"].(string)
		device.Device, _ = result["device"].(string)
		admin, _ := result["adminAccess"].(bool)
		if before, ok := devices[device]; ok {
			admin = admin && before
		}
		if devices == nil {
			devices = make(map[ClaimedDevice]bool, len(results))
		}
		devices[device] = admin
	}
	return devices
}
