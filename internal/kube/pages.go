// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// pageSize is how many objects are in memory as a whole at a time. With fewer, a list of 200,000 at five requests a second would
	// take longer than the API server keeps the events for the watch that follows, which is about a minute.
	pageSize = 1000
	// maxExpired is how many times a list may expire while it is read. The API server keeps a list for about five minutes.
	maxExpired = 3
)

// Source lists and watches the objects of one kind. The clients of client-go implement it.
type Source[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Paged returns an informer, for NewInformer, that reads lists page by page and transforms each page before it reads the next, so that
// the objects of a large cluster are never in memory as a whole. client-go's informers read a list in one piece, because the API server
// ignores the limit when it answers resourceVersion=0 from its cache. tweak may be nil.
func Paged[L runtime.Object](
	source Source[L], example runtime.Object, indexers cache.Indexers, tweak func(*metav1.ListOptions),
) cache.SharedIndexInformer {
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	return cache.NewSharedIndexInformer(&paged{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			transform, ok := ctx.Value(transformKey{}).(cache.TransformFunc)
			if !ok || options.FieldSelector != "" {
				// The objects of one node are one page. The API server has an index of them in its cache, and would go through
				// all objects without it.
				return source.List(ctx, options)
			}
			return pages(ctx, transform, func(options metav1.ListOptions) (runtime.Object, error) {
				tweak(&options)
				return source.List(ctx, options)
			})
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return source.Watch(ctx, options)
		},
	}}, example, 0, indexers)
}

// paged lists before it watches instead of streaming the first list. While an API server cannot be reached, client-go's stream reports no
// error, and stopping it waits for its back-off, up to a minute.
type paged struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is called by client-go.
func (*paged) IsWatchListSemanticsUnSupported() bool { return true }

// pages reads a list to its end. It is of the API server's newest state, which is the only one with pages.
func pages(
	ctx context.Context, transform cache.TransformFunc, page func(metav1.ListOptions) (runtime.Object, error),
) (runtime.Object, error) {
	whole := &metainternalversion.List{}
	options := metav1.ListOptions{Limit: pageSize}
	for expired := 0; ; {
		list, err := page(options)
		switch {
		case err == nil:
		case options.Continue != "" && apierrors.IsResourceExpired(err):
			if expired++; expired == maxExpired {
				return nil, fmt.Errorf("the list expired %d times before its end was read: %v", expired, err) //nolint:errorlint // client-go would take it for the end of a watch
			}
			whole, options.Continue = &metainternalversion.List{}, ""
			continue
		default:
			return nil, err
		}
		if err := addPage(whole, list, transform); err != nil {
			return nil, err
		}
		accessor, err := meta.ListAccessor(list)
		if err != nil {
			return nil, err
		}
		whole.ResourceVersion = accessor.GetResourceVersion()
		if options.Continue = accessor.GetContinue(); options.Continue == "" {
			return whole, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// addPage adds the transformed objects of a page to a list.
func addPage(whole *metainternalversion.List, page runtime.Object, transform cache.TransformFunc) error {
	return meta.EachListItem(page, func(object runtime.Object) error {
		result, err := transform(object)
		if err != nil {
			return err
		}
		item, ok := result.(metav1.Object)
		if !ok {
			return fmt.Errorf("%T was transformed to %T, which contains no metadata", object, result)
		}
		whole.Items = append(whole.Items, &listed{item})
		return nil
	})
}

// listed is an object that has been transformed, on its way through the list.
type listed struct{ metav1.Object }

// transformed returns an object that was transformed while its list was read; false if it was not.
func transformed(object any) (any, bool) {
	l, ok := object.(*listed)
	if !ok {
		return nil, false
	}
	return l.Object, true
}

// transformKey is the key of the informer's transform in the context of its requests.
type transformKey struct{}

func withTransform(ctx context.Context, transform cache.TransformFunc) context.Context {
	return context.WithValue(ctx, transformKey{}, transform)
}

// GetObjectKind implements runtime.Object.
func (*listed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The object never changes.
func (l *listed) DeepCopyObject() runtime.Object { return l }
