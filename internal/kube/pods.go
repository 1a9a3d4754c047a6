// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// PodsOptions selects pods and what is kept of them.
type PodsOptions struct {
	Node        string   // only the pods of this node; all if empty
	Labels      []string // the labels to keep as k8s.pod.label.<key>
	Annotations []string // the annotations to keep as k8s.pod.annotation.<key>
	// Metadata reports whether to keep the label or the annotation of a key in Pod.Metadata; nil keeps none.
	Metadata func(key string) bool
}

// Pods watches pods.
type Pods struct{ informer *Informer }

// storedPod is what the informer stores: a Pod, and the metadata that the store needs.
type storedPod struct {
	metav1.ObjectMeta
	pod Pod
}

const (
	uidIndex       = "uid"
	containerIndex = "container"
	initIndex      = "init"
	metadataIndex  = "metadata"
)

// NewPods returns Pods that do not watch yet. They need list and watch on pods. Metadata alone would not do, because the IDs of
// containers are in a pod's status.
func NewPods(client kubernetes.Interface, options PodsOptions) (*Pods, error) {
	tweak := func(list *metav1.ListOptions) {
		if options.Node != "" {
			list.FieldSelector = "spec.nodeName=" + options.Node
		}
	}
	indexers := cache.Indexers{uidIndex: indexUIDs, containerIndex: indexContainers, initIndex: indexInit, metadataIndex: indexMetadata}
	subject := "pods"
	if options.Node != "" {
		subject += " of node " + options.Node
	}
	informer, err := NewInformer(
		Paged(client.CoreV1().Pods(metav1.NamespaceAll), &corev1.Pod{}, indexers, tweak), subject,
		func(object any) (any, error) {
			if pod, ok := object.(*corev1.Pod); ok {
				return storePod(pod, &options), nil
			}
			return object, nil
		})
	if err != nil {
		return nil, err
	}
	return &Pods{informer: informer}, nil
}

func storePod(pod *corev1.Pod, options *PodsOptions) *storedPod {
	return &storedPod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		pod: newPod(pod, options),
	}
}

func indexUIDs(object any) ([]string, error) {
	stored, ok := object.(*storedPod)
	switch {
	case !ok:
		return nil, nil
	case stored.pod.StaticUID != "":
		return []string{stored.pod.UID, stored.pod.StaticUID}, nil
	default:
		return []string{stored.pod.UID}, nil
	}
}

func indexContainers(object any) ([]string, error) {
	stored, ok := object.(*storedPod)
	if !ok {
		return nil, nil
	}
	ids := make([]string, 0, len(stored.pod.Containers))
	for i := range stored.pod.Containers {
		if id := stored.pod.Containers[i].ID; id != "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func indexInit(object any) ([]string, error) {
	if stored, ok := object.(*storedPod); ok && stored.pod.Init != nil && !stored.pod.Ended() {
		return []string{""}, nil
	}
	return nil, nil
}

// Run watches until the context ends.
func (p *Pods) Run(ctx context.Context) { p.informer.RunWithContext(ctx) }

// Synced reports whether the first list has been read.
func (p *Pods) Synced() bool { return p.informer.HasSynced() }

// withDevices returns the pods that request devices.
func (p *Pods) withDevices() []*Pod {
	var pods []*Pod
	for _, object := range p.informer.GetStore().List() {
		if stored, ok := object.(*storedPod); ok && stored.pod.WantsDevices {
			pods = append(pods, &stored.pod)
		}
	}
	return pods
}

// WithInitDevices returns the pods that have not ended and whose init containers have devices.
func (p *Pods) WithInitDevices() []*Pod { return p.marked(initIndex) }

// marked returns the pods that an index without values has.
func (p *Pods) marked(index string) []*Pod {
	var pods []*Pod
	for _, object := range p.indexed(index, "") {
		if stored, ok := object.(*storedPod); ok {
			pods = append(pods, &stored.pod)
		}
	}
	return pods
}

// onDevices calls a function for each pod that requests devices, when it is first known.
func (p *Pods) onDevices(call func(*Pod)) error {
	_, err := p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if stored, ok := object.(*storedPod); ok && stored.pod.WantsDevices {
			call(&stored.pod)
		}
	}})
	return err
}

// Err returns why the pods could not be read lately; nil if they could.
func (p *Pods) Err() error { return p.informer.Err() }

// ByUID returns the pod with a UID, or the static pod that has it on its node; nil if there is no such pod. The API server gives each pod
// its UID, but a pod's object may claim any UID for the node. So a pod that has the UID takes precedence over pods that claim it, and if
// several pods claim it the result is nil.
func (p *Pods) ByUID(uid string) *Pod {
	objects := p.indexed(uidIndex, uid)
	for _, object := range objects {
		if stored, ok := object.(*storedPod); ok && stored.pod.UID == uid {
			return &stored.pod
		}
	}
	return only(objects)
}

// ByContainerID returns the pod of a container; nil if it is not known.
func (p *Pods) ByContainerID(id string) *Pod { return only(p.indexed(containerIndex, id)) }

func (p *Pods) indexed(index, value string) []any {
	objects, err := p.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	return objects
}

// only returns the only pod that was found; nil if there is no pod or several.
func only(objects []any) *Pod {
	if len(objects) != 1 {
		return nil
	}
	if stored, ok := objects[0].(*storedPod); ok {
		return &stored.pod
	}
	return nil
}

// ByName returns the pod with a name; nil if there is none.
func (p *Pods) ByName(namespace, name string) *Pod {
	object, ok, err := p.informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil
	}
	if stored, ok := object.(*storedPod); ok {
		return &stored.pod
	}
	return nil
}
