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
	// pageSize is how many objects are in memory whole at a time. With fewer, a list of 200,000 at five requests a second would
	// take longer than the API server keeps events for the watch that goes on from it, which is a minute or so.
	pageSize = 1000
	// maxExpired is how often a list may expire under the reading before that is an error. The API server keeps a list for
	// five minutes or so.
	maxExpired = 3
)

// Source lists and watches the objects of one kind, as the clients of client-go do.
type Source[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// Paged returns an informer, for NewInformer, that reads lists page by page and keeps of each page what NewInformer's transform
// leaves of it, so that the objects of a large cluster are never in memory whole. Those of client-go read a list in one piece:
// the API server answers resourceVersion=0 from its cache without regard to a limit. tweak may be nil.
func Paged[L runtime.Object](
	source Source[L], example runtime.Object, indexers cache.Indexers, tweak func(*metav1.ListOptions),
) cache.SharedIndexInformer {
	if tweak == nil {
		tweak = func(*metav1.ListOptions) {}
	}
	return cache.NewSharedIndexInformer(&paged{&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			informer, ok := ctx.Value(informerKey{}).(*Informer)
			if !ok || options.FieldSelector != "" {
				// What is on one node is one page. The API server has an index of it in its cache, and would go through all
				// objects for it otherwise.
				return source.List(ctx, options)
			}
			return pages(ctx, informer.transform, func(options metav1.ListOptions) (runtime.Object, error) {
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

// paged lists before it watches, as the clients do; see listing.
type paged struct{ *cache.ListWatch }

// IsWatchListSemanticsUnSupported is what client-go asks.
func (*paged) IsWatchListSemanticsUnSupported() bool { return true }

// pages reads a list to its end, of the API server's newest state: it has pages of no other.
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
				return nil, fmt.Errorf("the list expired %d times before it was read to its end: %v", expired, err) //nolint:errorlint // client-go would take it for the end of a watch
			}
			whole, options.Continue = &metainternalversion.List{}, ""
			continue
		default:
			return nil, err
		}
		if err := keep(whole, list, transform); err != nil {
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

// keep adds to a list what is left of a page.
func keep(whole *metainternalversion.List, page runtime.Object, transform cache.TransformFunc) error {
	return meta.EachListItem(page, func(object runtime.Object) error {
		kept, err := transform(object)
		if err != nil {
			return err
		}
		item, ok := kept.(metav1.Object)
		if !ok {
			return fmt.Errorf("what is kept of a %T has no metadata: %T", object, kept)
		}
		whole.Items = append(whole.Items, &listed{item})
		return nil
	})
}

// listed is what is kept of an object, on its way through the list.
type listed struct{ metav1.Object }

// GetObjectKind implements runtime.Object.
func (*listed) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. What is kept is not changed.
func (l *listed) DeepCopyObject() runtime.Object { return l }
