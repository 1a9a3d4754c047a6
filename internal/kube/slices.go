// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Slices watches the ResourceSlices of a node, in which the drivers of dynamic resource allocation publish its devices. It reads
// resource.k8s.io in the version that the API server prefers. v1, v1beta2 and v1beta1 differ in the place of a device's attributes.
type Slices struct {
	client  dynamic.Interface
	resolve resolveFunc
	node    string
	retry   time.Duration
	wanted  chan struct{}
	want    sync.Once

	mu       sync.RWMutex
	informer *Informer
	failure  error
}

const poolIndex = "pool"

// storedSlice is what is kept of a ResourceSlice.
type storedSlice struct {
	metav1.ObjectMeta
	driver, pool string
	generation   int64
	devices      map[string]map[string]string // attributes by device name
}

// NewSlices returns Slices of a node. They need list and watch on resourceslices, and make no request before Want is called.
func NewSlices(clients *Clients, node string) *Slices {
	return &Slices{
		client:  clients.Dynamic,
		resolve: (&discoverer{client: clients.Kubernetes.Discovery()}).resolve,
		node:    node,
		retry:   time.Minute,
		wanted:  make(chan struct{}),
	}
}

// Want starts to read the slices.
func (s *Slices) Want() { s.want.Do(func() { close(s.wanted) }) }

// Run watches, from when Want was called until the context ends.
func (s *Slices) Run(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-s.wanted:
	}
	runWhenServed(ctx, s.retry, func() (*Informer, error) { return s.prepare(ctx) }, func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failure = err
	})
}

func (s *Slices) prepare(ctx context.Context) (*Informer, error) {
	resource := schema.GroupResource{Group: "resource.k8s.io", Resource: "resourceslices"}
	mapping, err := s.resolve(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("kube: look up the kind %s: %w", resource, err)
	}
	indexers := cache.Indexers{poolIndex: func(object any) ([]string, error) {
		if slice, ok := object.(*storedSlice); ok {
			return []string{slice.driver + "/" + slice.pool}, nil
		}
		return nil, nil
	}}
	shared := dynamicinformer.NewFilteredDynamicInformer(s.client, mapping.Resource, metav1.NamespaceAll, 0, indexers,
		func(list *metav1.ListOptions) { list.FieldSelector = "spec.nodeName=" + s.node })
	informer, err := NewInformer(shared.Informer(), "resourceslices of node "+s.node, func(object any) (any, error) {
		if slice, ok := object.(*unstructured.Unstructured); ok {
			return storeSlice(slice), nil
		}
		return object, nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.informer = informer
	return informer, nil
}

// Synced reports whether the first list has been read.
func (s *Slices) Synced() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.informer != nil && s.informer.HasSynced()
}

// Err returns why the slices could not be read lately; nil if they could.
func (s *Slices) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.failure != nil || s.informer == nil {
		return s.failure
	}
	return s.informer.Err()
}

// Device returns the attributes of a device, by their names without the driver's domain; nil if the device is not published. While a
// pool is being replaced, its newer generation counts.
func (s *Slices) Device(driver, pool, device string) map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.informer == nil {
		return nil
	}
	objects, err := s.informer.GetIndexer().ByIndex(poolIndex, driver+"/"+pool)
	if err != nil {
		return nil
	}
	var found map[string]string
	newest := int64(-1)
	for _, object := range objects {
		slice, ok := object.(*storedSlice)
		if !ok {
			continue
		}
		if attributes, ok := slice.devices[device]; ok && slice.generation > newest {
			found, newest = attributes, slice.generation
		}
	}
	return found
}

// maxAttribute bounds the values that are kept, in bytes. A longer one is not an identifier.
const maxAttribute = 128

func storeSlice(slice *unstructured.Unstructured) *storedSlice {
	stored := &storedSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: slice.GetName(), UID: slice.GetUID(), ResourceVersion: slice.GetResourceVersion(),
		},
		devices: make(map[string]map[string]string),
	}
	stored.driver, _, _ = unstructured.NestedString(slice.Object, "spec", "driver")
	stored.pool, _, _ = unstructured.NestedString(slice.Object, "spec", "pool", "name")
	stored.generation, _, _ = unstructured.NestedInt64(slice.Object, "spec", "pool", "generation")
	spec, _ := slice.Object["spec"].(map[string]any)
	devices, _ := spec["devices"].([]any)
	for _, object := range devices {
		device, _ := object.(map[string]any)
		name, _ := device["name"].(string)
		if name != "" {
			stored.devices[name] = deviceAttributes(device, stored.driver)
		}
	}
	return stored
}

// deviceAttributes returns a device's attributes: beside its name since v1beta2, under basic before.
func deviceAttributes(device map[string]any, driver string) map[string]string {
	attributes, ok := device["attributes"].(map[string]any)
	if !ok {
		basic, _ := device["basic"].(map[string]any)
		attributes, _ = basic["attributes"].(map[string]any)
	}
	kept := make(map[string]string, len(attributes))
	for name, object := range attributes {
		typed, _ := object.(map[string]any)
		var value string
		switch {
		case typed["string"] != nil:
			value, _ = typed["string"].(string)
		case typed["int"] != nil:
			if number, ok := typed["int"].(int64); ok {
				value = strconv.FormatInt(number, 10)
			}
		}
		if value != "" && len(value) <= maxAttribute {
			kept[strings.TrimPrefix(name, driver+"/")] = value
		}
	}
	return kept
}
