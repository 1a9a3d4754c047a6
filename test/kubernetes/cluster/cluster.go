// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

// Cluster is a running cluster, as its administrator.
type Cluster struct {
	Layout

	Config *rest.Config
	Client kubernetes.Interface

	objects dynamic.Interface
	mapper  meta.RESTMapper
}

// Open returns the running cluster. Without one the test skips.
func Open(t testing.TB) *Cluster {
	t.Helper()
	if os.Getenv(EnvRun) == "" {
		t.Skipf("no cluster to test on: %s does not name a running node; run test/kubernetes/run.sh", EnvRun)
	}
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func open() (*Cluster, error) {
	layout, err := FromEnv()
	if err != nil {
		return nil, err
	}
	if !layout.Running() {
		return nil, fmt.Errorf("%s names %s, which is not running", EnvRun, layout.Run())
	}
	config, err := clientcmd.BuildConfigFromFlags("", layout.Kubeconfig())
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 100, 200
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{
		Layout: layout, Config: config, Client: client, objects: objects,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
	}, nil
}

// ImportCollector puts the image that is shipped into the node. Without its archive the test skips.
func (c *Cluster) ImportCollector(t testing.TB) {
	t.Helper()
	archive := os.Getenv(EnvImage)
	if archive == "" {
		t.Skipf("the shipped image was not run: %s does not name its archive; test/kubernetes/run.sh builds it where it can", EnvImage)
	}
	if err := c.ImportArchive(t.Context(), archive); err != nil {
		t.Fatal(err)
	}
}

// Apply creates or updates the objects of a manifest with one or more documents. When the test ends it deletes them in reverse order.
func (c *Cluster) Apply(t testing.TB, manifest string) {
	t.Helper()
	for _, o := range c.Keep(t, manifest) {
		t.Cleanup(func() { c.remove(t, o) })
	}
}

// Keep is Apply without the deletion. It returns the objects.
func (c *Cluster) Keep(t testing.TB, manifest string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	reader := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifest), 4096)
	for {
		o := &unstructured.Unstructured{}
		err := reader.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("read a manifest: %v\n%s", err, manifest)
		}
		if len(o.Object) == 0 {
			continue // comments alone
		}
		client, err := c.resource(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = client.Apply(t.Context(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "test", Force: true}); err != nil {
			t.Fatalf("apply %s %s: %v", o.GetKind(), o.GetName(), err)
		}
		objects = append(objects, o)
	}
}

func (c *Cluster) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := o.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", kind.Kind, o.GetName(), err)
	}
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		return c.objects.Resource(mapping.Resource), nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return c.objects.Resource(mapping.Resource).Namespace(namespace), nil
}

// remove deletes an object and waits until it and its dependents are gone.
func (c *Cluster) remove(t testing.TB, o *unstructured.Unstructured) {
	t.Helper()
	client, err := c.resource(o)
	if err != nil {
		t.Error(err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	first := metav1.DeletePropagationForeground
	err = Poll(ctx, func() error {
		err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &first})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return fmt.Errorf("%s %s is still there", o.GetKind(), o.GetName())
	})
	if err != nil {
		t.Errorf("delete %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

// Poll tries, several times a second, until it succeeds or the context ends.
func Poll(ctx context.Context, try func() error) error {
	const pause = 100 * time.Millisecond
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// Freeze stops a component as if its machine hung, until thaw is called or the test ends.
func (c *Cluster) Freeze(t testing.TB, component string) (thaw func()) {
	t.Helper()
	if err := c.Signal(component, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	frozen := true
	thaw = func() {
		t.Helper()
		if !frozen {
			return
		}
		frozen = false
		if err := c.Signal(component, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(thaw)
	return thaw
}
