// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

// Slices watches the ResourceSlices of a node, in which the drivers of dynamic resource allocation publish its devices. It reads
// resource.k8s.io in the version that the API server prefers. v1, v1beta2 and v1beta1 differ in the place of a device's attributes.
type Slices struct {
	*servedKind

	client dynamic.Interface
	node   string
	demand chan struct{}
	want   sync.Once
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
	s := &Slices{client: clients.Dynamic, node: node, demand: make(chan struct{})}
	s.servedKind = newServed(clients, schema.GroupResource{Group: resourceAPI, Resource: "resourceslices"}, "", s.informerOf)
	return s
}

// Want starts to read the slices.
func (s *Slices) Want() { s.want.Do(func() { close(s.demand) }) }

// Run watches, from when Want was called until the context ends.
func (s *Slices) Run(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-s.demand:
		s.servedKind.Run(ctx)
	}
}

func (s *Slices) informerOf(mapping *meta.RESTMapping) (*Informer, error) {
	indexers := cache.Indexers{poolIndex: func(object any) ([]string, error) {
		if slice, ok := object.(*storedSlice); ok {
			return []string{slice.driver + "/" + slice.pool}, nil
		}
		return nil, nil
	}}
	shared := Paged(s.client.Resource(mapping.Resource), &unstructured.Unstructured{}, indexers,
		func(list *metav1.ListOptions) { list.FieldSelector = "spec.nodeName=" + s.node })
	return NewInformer(shared, "resourceslices of node "+s.node, func(object any) (any, error) {
		if slice, ok := object.(*unstructured.Unstructured); ok {
			return storeSlice(slice), nil
		}
		return object, nil
	})
}

// Device returns the attributes of a device, by their names without the driver's domain; nil if the device is not published. While a
// pool is being replaced, its newer generation counts.
func (s *Slices) Device(driver, pool, device string) map[string]string {
	informer := s.current()
	if informer == nil {
		return nil
	}
	objects, err := informer.GetIndexer().ByIndex(poolIndex, driver+"/"+pool)
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
	values := make(map[string]string, len(attributes))
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
			values[strings.TrimPrefix(name, driver+"/")] = value
		}
	}
	return values
}
