// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Claims tells for which of their requests ResourceClaims were given devices, and which for administration (adminAccess): to look
// after them, beside whoever has them. The kubelet does not tell. Each claim is asked for once, as what it was given does not change
// while a pod has it. It is not safe for concurrent use.
type Claims struct {
	client   dynamic.Interface
	resolve  resolveFunc
	now      func() time.Time
	resource schema.GroupVersionResource // as it is served; zero before it was looked up
	known    map[Claim][]given
	failure  error
	failed   Claim     // of which
	due      time.Time // when to ask again
}

// Claim names a ResourceClaim.
type Claim struct{ Namespace, Name string }

// ClaimedDevice names a device that a claim was given.
type ClaimedDevice struct{ Driver, Pool, Device string }

// given is a device that a claim was given for a request.
type given struct {
	device  ClaimedDevice
	request string
	admin   bool
}

// retryClaims is how long nothing is asked after a failure.
const retryClaims = time.Minute

// NewClaims prepares the asking for claims. It needs get on resourceclaims.
func NewClaims(clients *Clients) *Claims {
	return &Claims{
		client:  clients.Dynamic,
		resolve: (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		now:     time.Now,
		known:   make(map[Claim][]given),
	}
}

// Wants tells whether a claim is to be asked for.
func (c *Claims) Wants(claim Claim) bool {
	_, known := c.known[claim]
	return !known && !c.now().Before(c.due)
}

// Get requests a claim.
func (c *Claims) Get(ctx context.Context, claim Claim) {
	all, err := c.read(ctx, claim)
	if err != nil {
		c.failure, c.failed, c.due = err, claim, c.now().Add(retryClaims)
		return
	}
	c.known[claim], c.failure = all, nil
}

// Holds tells whether a container that is given these requests of a claim, or the whole where there are none, holds a device by
// them: not what is there for administration alone, or for other requests. A device of which nothing is known it does.
func (c *Claims) Holds(claim Claim, device ClaimedDevice, requests []string) bool {
	known := false
	for _, g := range c.known[claim] {
		if g.device != device {
			continue
		}
		if known = true; g.holds(requests) {
			return true
		}
	}
	return !known
}

// Devices are those that a container holds that is given these requests of a claim, as far as they are known.
func (c *Claims) Devices(claim Claim, requests []string) []ClaimedDevice {
	var devices []ClaimedDevice
	for _, g := range c.known[claim] {
		if g.holds(requests) {
			devices = append(devices, g.device)
		}
	}
	return devices
}

func (g *given) holds(requests []string) bool {
	return !g.admin && (len(requests) == 0 || slices.Contains(requests, g.request))
}

// Keep forgets the claims that are not to be kept.
func (c *Claims) Keep(kept func(Claim) bool) {
	maps.DeleteFunc(c.known, func(claim Claim, _ []given) bool { return !kept(claim) })
	if c.failure != nil && !kept(c.failed) {
		c.failure = nil
	}
}

// Err tells why claims could not be read of late.
func (c *Claims) Err() error { return c.failure }

func (c *Claims) read(ctx context.Context, claim Claim) ([]given, error) {
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
		return allGiven(object), nil
	case notServed(err):
		c.resource = schema.GroupVersionResource{} // it may be served in another version by now
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	hint := "until it is known, a claim with adminAccess counts as one that holds its devices, and one in parts as the whole"
	if apierrors.IsForbidden(err) {
		hint = "grant get on " + resource.String() + "; " + hint
	}
	return nil, fmt.Errorf("kube: get %s %s/%s: %w; %s", resource, claim.Namespace, claim.Name, err, hint)
}

// allGiven returns the devices that a claim was given.
func allGiven(claim *unstructured.Unstructured) []given {
	results, _, _ := unstructured.NestedSlice(claim.Object, "status", "allocation", "devices", "results")
	all := make([]given, 0, len(results))
	for _, object := range results {
		result, _ := object.(map[string]any)
		var g given
		g.device.Driver, _ = result["driver"].(string)
		g.device.Pool, _ = result["pool"].(string)
		g.device.Device, _ = result["device"].(string)
		g.admin, _ = result["adminAccess"].(bool)
		request, _ := result["request"].(string)
		g.request, _, _ = strings.Cut(request, "/") // behind it is which of its alternatives was taken
		all = append(all, g)
	}
	return all
}
