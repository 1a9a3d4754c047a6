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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Claims knows for which request a ResourceClaim was given each device, and which devices it has for administration (adminAccess): to
// look after them, beside those who hold them. The kubelet does not list either. Each claim is requested once, because its devices do
// not change while a pod has it. Claims is not safe for concurrent use.
type Claims struct {
	client   dynamic.Interface
	resolve  resolveFunc
	now      func() time.Time
	resource schema.GroupVersionResource // resourceclaims as they are served; zero before they were looked up
	known    map[Claim][]givenDevice
	failure  error
	failed   Claim     // the claim that could not be read
	due      time.Time // when the next request may be made
}

// Claim names a ResourceClaim.
type Claim struct{ Namespace, Name string }

// ClaimedDevice names a device that a claim was given.
type ClaimedDevice struct{ Driver, Pool, Device string }

// givenDevice is a device that a claim was given for a request.
type givenDevice struct {
	device  ClaimedDevice
	request string
	admin   bool
}

// retryClaims is how long no request is made after a failure.
const retryClaims = time.Minute

// NewClaims returns Claims without any claim. They need get on resourceclaims.
func NewClaims(clients *Clients) *Claims {
	return &Claims{
		client:  clients.Dynamic,
		resolve: resolver(clients),
		now:     time.Now,
		known:   make(map[Claim][]givenDevice),
	}
}

// Wants reports whether a claim is to be requested: it is unknown, and the last failure is long enough ago.
func (c *Claims) Wants(claim Claim) bool {
	_, known := c.known[claim]
	return !known && !c.now().Before(c.due)
}

// Get requests a claim. Err returns why it could not be read.
func (c *Claims) Get(ctx context.Context, claim Claim) {
	all, err := c.read(ctx, claim)
	if err != nil {
		c.failure, c.failed, c.due = err, claim, c.now().Add(retryClaims)
		return
	}
	c.known[claim], c.failure = all, nil
}

// Holds reports whether a container with these requests of a claim, or with the whole claim if there are none, holds a device by it. It
// does not hold the claim's devices for administration or for other requests. It holds a device that the claim is not known to have.
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

// Devices returns the devices that a container with these requests of a claim holds, as far as they are known.
func (c *Claims) Devices(claim Claim, requests []string) []ClaimedDevice {
	var devices []ClaimedDevice
	for _, g := range c.known[claim] {
		if g.holds(requests) {
			devices = append(devices, g.device)
		}
	}
	return devices
}

func (g *givenDevice) holds(requests []string) bool {
	return !g.admin && (len(requests) == 0 || slices.Contains(requests, g.request))
}

// Keep forgets the claims for which retain returns false.
func (c *Claims) Keep(retain func(Claim) bool) {
	maps.DeleteFunc(c.known, func(claim Claim, _ []givenDevice) bool { return !retain(claim) })
	if c.failure != nil && !retain(c.failed) {
		c.failure = nil
	}
}

// Err returns why a claim could not be read lately; nil if all could.
func (c *Claims) Err() error { return c.failure }

func (c *Claims) read(ctx context.Context, claim Claim) ([]givenDevice, error) {
	resource := schema.GroupResource{Group: resourceAPI, Resource: "resourceclaims"}
	if c.resource.Empty() {
		mapping, err := c.resolve(ctx, resource)
		if err != nil {
			return nil, fmt.Errorf("kube: look up the kind %s: %w", resource, err)
		}
		c.resource = mapping.Resource
	}
	object, _, err := getOnce(ctx, c.client.Resource(c.resource).Namespace(claim.Namespace), claim.Name)
	switch {
	case err == nil:
		return givenDevices(object), nil
	case notServed(err):
		c.resource = schema.GroupVersionResource{} // it may be served in another version now
	case apierrors.IsNotFound(err):
		return nil, nil
	}
	hint := "until the claim can be read,  each container that uses it counts as a holder of all its devices, " +
		"also of devices with adminAccess and devices of other containers"
	if apierrors.IsForbidden(err) {
		hint = "grant get on " + resource.String() + "; " + hint
	}
	return nil, fmt.Errorf("kube: get %s %s/%s: %w; %s", resource, claim.Namespace, claim.Name, err, hint)
}

// givenDevices returns the devices that a claim was given.
func givenDevices(claim *unstructured.Unstructured) []givenDevice {
	results, _, _ := unstructured.NestedSlice(claim.Object, "status", "allocation", "devices", "results")
	all := make([]givenDevice, 0, len(results))
	for _, object := range results {
		result, _ := object.(map[string]any)
		var g givenDevice
		g.device.Driver, _ = result["driver"].(string)
		g.device.Pool, _ = result["pool"].(string)
		g.device.Device, _ = result["device"].(string)
		g.admin, _ = result["adminAccess"].(bool)
		request, _ := result["request"].(string)
		g.request, _, _ = strings.Cut(request, "/") // the alternative that was taken follows
		all = append(all, g)
	}
	return all
}
