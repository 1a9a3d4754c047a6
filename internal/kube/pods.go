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

// PodsOptions selects pods, and what is kept of them.
type PodsOptions struct {
	Node        string   // only the pods of this node; all if empty
	Labels      []string // the labels to keep as k8s.pod.label.<key>
	Annotations []string // the annotations to keep as k8s.pod.annotation.<key>
}

// Pods watches pods.
type Pods struct{ informer *Informer }

// storedPod is what the informer's store holds: a Pod, and the metadata by which the store knows it.
type storedPod struct {
	metav1.ObjectMeta
	pod Pod
}

const (
	uidIndex       = "uid"
	containerIndex = "container"
	initIndex      = "init"
)

// NewPods prepares the watching of pods. It needs list and watch on pods; there is no informer of metadata alone here,
// since the ids of the containers stand in a pod's status.
func NewPods(client kubernetes.Interface, options PodsOptions) (*Pods, error) {
	tweak := func(list *metav1.ListOptions) {
		if options.Node != "" {
			list.FieldSelector = "spec.nodeName=" + options.Node
		}
	}
	indexers := cache.Indexers{uidIndex: indexUIDs, containerIndex: indexContainers, initIndex: indexInit}
	what := "pods"
	if options.Node != "" {
		what += " of node " + options.Node
	}
	informer, err := NewInformer(
		Paged(client.CoreV1().Pods(metav1.NamespaceAll), &corev1.Pod{}, indexers, tweak), what,
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

// Synced tells whether the first list has been read.
func (p *Pods) Synced() bool { return p.informer.HasSynced() }

// wantDevices returns the pods that ask for devices.
func (p *Pods) wantDevices() []*Pod {
	var pods []*Pod
	for _, object := range p.informer.GetStore().List() {
		if stored, ok := object.(*storedPod); ok && stored.pod.WantsDevices {
			pods = append(pods, &stored.pod)
		}
	}
	return pods
}

// Early returns the pods that have not ended, and whose init containers ask for devices.
func (p *Pods) WithInitDevices() []*Pod {
	var pods []*Pod
	for _, object := range p.indexed(initIndex, "") {
		if stored, ok := object.(*storedPod); ok {
			pods = append(pods, &stored.pod)
		}
	}
	return pods
}

// onWanted has a pod that asks for devices told of when it is first known.
func (p *Pods) onWanted(tell func(*Pod)) error {
	_, err := p.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(object any) {
		if stored, ok := object.(*storedPod); ok && stored.pod.WantsDevices {
			tell(&stored.pod)
		}
	}})
	return err
}

// Err tells why the pods could not be read of late.
func (p *Pods) Err() error { return p.informer.Err() }

// ByUID finds a pod by its UID, for a static pod also by the one that its node gave it; nil if it is not known. The API server
// gives each pod its UID, but what a static pod's object says of the node's is taken from it on trust: so a pod that has the
// UID goes before all that say so, and where several say so it is none of them.
func (p *Pods) ByUID(uid string) *Pod {
	objects := p.indexed(uidIndex, uid)
	for _, object := range objects {
		if stored, ok := object.(*storedPod); ok && stored.pod.UID == uid {
			return &stored.pod
		}
	}
	return only(objects)
}

// ByContainerID finds the pod that a container is in; nil if it is not known.
func (p *Pods) ByContainerID(id string) *Pod { return only(p.indexed(containerIndex, id)) }

func (p *Pods) indexed(index, value string) []any {
	objects, err := p.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	return objects
}

// only returns the pod that alone was found; nil where there is none, or more than one.
func only(objects []any) *Pod {
	if len(objects) != 1 {
		return nil
	}
	if stored, ok := objects[0].(*storedPod); ok {
		return &stored.pod
	}
	return nil
}

// ByName finds a pod by its name; nil if it is not known.
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
