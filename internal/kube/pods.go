// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// staticHash is the annotation under which the API shows the UID that a static pod has on its node, in the names of its
// control groups and log files. The pod object has another UID.
const staticHash = "kubernetes.io/config.hash"

// Pod is what is kept of a pod. It is never changed after it was handed out.
type Pod struct {
	Namespace, Name, UID string
	NodeName             string
	StaticUID            string // the UID on the node of a static pod, else empty
	Phase                corev1.PodPhase
	Owners               []metav1.OwnerReference // only APIVersion, Kind, Name, UID and Controller
	Attributes           map[string]string       // the labels and annotations asked for, by the names of their resource attributes
	Containers           []Container             // of all kinds, in the pod's order; those with a status
}

// Container is a container of a pod.
type Container struct {
	Name    string
	ID      string // of the present or last instance, without the runtime's prefix; empty before the first
	Running bool
}

// Ended tells that no container of the pod runs any more, nor will again.
func (p *Pod) Ended() bool {
	return p.Phase == corev1.PodSucceeded || p.Phase == corev1.PodFailed
}

// PodsOptions selects pods, and what is kept of them.
type PodsOptions struct {
	Node          string   // only the pods of this node; all if empty
	Namespace     string   // only of this namespace; all if empty
	LabelSelector string   // all if empty
	Labels        []string // the labels to keep as k8s.pod.label.<key>
	Annotations   []string // the annotations to keep as k8s.pod.annotation.<key>
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
)

// NewPods prepares the watching of pods. It needs list and watch on pods; there is no informer of metadata alone here,
// since the ids of the containers stand in a pod's status.
func NewPods(client kubernetes.Interface, options PodsOptions) (*Pods, error) {
	tweak := func(list *metav1.ListOptions) {
		if options.Node != "" {
			list.FieldSelector = "spec.nodeName=" + options.Node
		}
		list.LabelSelector = options.LabelSelector
	}
	indexers := cache.Indexers{uidIndex: indexUIDs, containerIndex: indexContainers}
	what := "pods"
	if options.Node != "" {
		what += " of node " + options.Node
	}
	if options.Namespace != "" {
		what += " in namespace " + options.Namespace
	}
	informer, err := NewInformer(
		coreinformers.NewFilteredPodInformer(client, options.Namespace, 0, indexers, tweak), what,
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

// Run watches until the context ends.
func (p *Pods) Run(ctx context.Context) { p.informer.RunWithContext(ctx) }

// Synced tells whether the first list has been read.
func (p *Pods) Synced() bool { return p.informer.HasSynced() }

// Err tells why the pods could not be read of late.
func (p *Pods) Err() error { return p.informer.Err() }

// ByUID finds a pod by its UID, for a static pod also by the one that its node gave it; nil if it is not known.
func (p *Pods) ByUID(uid string) *Pod { return p.first(uidIndex, uid) }

// ByContainerID finds the pod that a container is in; nil if it is not known.
func (p *Pods) ByContainerID(id string) *Pod { return p.first(containerIndex, id) }

func (p *Pods) first(index, value string) *Pod {
	objects, err := p.informer.GetIndexer().ByIndex(index, value)
	if err != nil || len(objects) == 0 {
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

// All returns every pod that is known, in no order.
func (p *Pods) All() []*Pod {
	objects := p.informer.GetIndexer().List()
	pods := make([]*Pod, 0, len(objects))
	for _, object := range objects {
		if stored, ok := object.(*storedPod); ok {
			pods = append(pods, &stored.pod)
		}
	}
	return pods
}

func storePod(pod *corev1.Pod, options *PodsOptions) *storedPod {
	return &storedPod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		},
		pod: Pod{
			Namespace:  pod.Namespace,
			Name:       pod.Name,
			UID:        string(pod.UID),
			NodeName:   pod.Spec.NodeName,
			StaticUID:  pod.Annotations[staticHash],
			Phase:      pod.Status.Phase,
			Owners:     owners(pod.OwnerReferences),
			Attributes: attributes(pod, options),
			Containers: containers(&pod.Status),
		},
	}
}

func attributes(pod *corev1.Pod, options *PodsOptions) map[string]string {
	kept := make(map[string]string)
	for _, key := range options.Labels {
		if value, ok := pod.Labels[key]; ok {
			kept["k8s.pod.label."+key] = value
		}
	}
	for _, key := range options.Annotations {
		if value, ok := pod.Annotations[key]; ok {
			kept["k8s.pod.annotation."+key] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

func containers(status *corev1.PodStatus) []Container {
	all := make([]Container, 0, len(status.InitContainerStatuses)+len(status.ContainerStatuses)+len(status.EphemeralContainerStatuses))
	for _, statuses := range [][]corev1.ContainerStatus{
		status.InitContainerStatuses, status.ContainerStatuses, status.EphemeralContainerStatuses,
	} {
		for i := range statuses {
			all = append(all, Container{
				Name:    statuses[i].Name,
				ID:      bareID(statuses[i].ContainerID),
				Running: statuses[i].State.Running != nil,
			})
		}
	}
	return all
}

// bareID takes the runtime's prefix off a container id: containerd://3f25….
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

// ContainerByID returns the name of the container with an id; empty if the pod has none with it.
func (p *Pod) ContainerByID(id string) string {
	for i := range p.Containers {
		if p.Containers[i].ID == id && id != "" {
			return p.Containers[i].Name
		}
	}
	return ""
}

// ContainerID returns the id of the container with a name; empty if it has none yet.
func (p *Pod) ContainerID(name string) string {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return p.Containers[i].ID
		}
	}
	return ""
}

// String names the pod in messages.
func (p *Pod) String() string { return fmt.Sprintf("%s/%s", p.Namespace, p.Name) }
