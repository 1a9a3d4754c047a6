// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	source = "gpureceiver" // what `kubectl describe` shows as From
	// maxAge is how old a record may be: the API server keeps Events for an hour, so an older Event would expire immediately.
	maxAge       = time.Hour
	maxMessage   = 1024 // bytes, as of the API's newer Events
	maxReason    = 128
	maxEventPods = 16 // pods that get an Event of one record
)

// statusReasons are the reasons of hw.gpu.status by hw.state.
var statusReasons = map[string]string{
	"ok": "GPURecovered", "degraded": "GPUDegraded", "failed": "GPUFailed", "predicted_failure": "GPUFailurePredicted",
}

// eventsOf returns the Events of a record: on the node, and on the pods that held or used the GPU. A record that is not an event of a GPU,
// that is old, or that reports no problem has no Events.
func eventsOf(node string, record plog.LogRecord, pods *podUIDs, now time.Time) []*corev1.Event {
	reason, kind := classify(record)
	eventTime := record.Timestamp().AsTime()
	if record.Timestamp() == 0 {
		eventTime = record.ObservedTimestamp().AsTime()
	}
	if reason == "" || now.Sub(eventTime) > maxAge {
		return nil
	}
	eventTime = slices.MinFunc([]time.Time{eventTime, now}, time.Time.Compare) // a node's clock may be ahead
	message := record.Body().AsString()
	if message == "" {
		message = strings.TrimSpace(record.EventName() + " " + textOf(record.Attributes(), "hw.name"))
	}
	objects := append([]corev1.ObjectReference{nodeReference(node)}, podsOf(record.Attributes(), pods)...)
	events := make([]*corev1.Event, 0, len(objects))
	for _, object := range objects {
		events = append(events, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Namespace: namespaceOf(&object), Name: eventName(&object, record)},
			InvolvedObject: object, Reason: reason, Type: kind, Message: bounded(message, maxMessage), Count: 1,
			FirstTimestamp: metav1.NewTime(eventTime), LastTimestamp: metav1.NewTime(eventTime),
			Source:              corev1.EventSource{Component: source, Host: node},
			ReportingController: source, ReportingInstance: node,
		})
	}
	return events
}

// classify returns the reason and the type of a record's Events; an empty reason if it has no Events. Warnings of GPUs and of their sources
// have one, and so has the end of what hw.gpu.status and hw.gpu.source.failed have warned of.
func classify(record plog.LogRecord) (reason, kind string) {
	name := record.EventName()
	rest, ok := strings.CutPrefix(name, "hw.gpu.")
	if !ok {
		return "", ""
	}
	switch {
	case name == "hw.gpu.status":
		reason = statusReasons[textOf(record.Attributes(), "hw.state")]
	case name == "hw.gpu.source.recovered", record.SeverityNumber() >= plog.SeverityNumberWarn:
		reason = "GPU" + pascalCase(rest)
	}
	kind = corev1.EventTypeNormal
	if record.SeverityNumber() >= plog.SeverityNumberWarn {
		kind = corev1.EventTypeWarning
	}
	return reason, kind
}

// pascalCase returns a name as Kubernetes writes reasons: SourceFailed for source.failed.
func pascalCase(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return bounded(b.String(), maxReason)
}

// nodeReference refers to a node as the kubelet's own Events do, by the name in place of the UID: `kubectl describe node` looks for it.
func nodeReference(node string) corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: node, UID: types.UID(node)}
}

// namespaceOf returns the namespace of the Events of an object.
func namespaceOf(object *corev1.ObjectReference) string {
	if object.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return object.Namespace
}

// podsOf returns the pods that had the GPU of a record.
func podsOf(attributes pcommon.Map, pods *podUIDs) []corev1.ObjectReference {
	uids := map[podName]types.UID{}
	for _, list := range []string{"hw.gpu.held_by", "hw.gpu.used_by"} {
		names, ok := attributes.Get(list)
		if !ok || names.Type() != pcommon.ValueTypeSlice {
			continue
		}
		for _, name := range names.Slice().All() { // namespace/pod/container; others are not pods
			if parts := strings.Split(name.AsString(), "/"); len(parts) == 3 {
				pod := podName{parts[0], parts[1]}
				uids[pod] = pods.uid(pod)
			}
		}
	}
	// The only container, whose pod is known best.
	if uid := textOf(attributes, "k8s.pod.uid"); validUID(uid) {
		uids[podName{textOf(attributes, "k8s.namespace.name"), textOf(attributes, "k8s.pod.name")}] = types.UID(uid)
	}
	var found []corev1.ObjectReference
	for pod, uid := range uids {
		if pod.valid() {
			found = append(found, corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.namespace, Name: pod.name, UID: uid})
		}
	}
	slices.SortFunc(found, func(a, b corev1.ObjectReference) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return found[:min(len(found), maxEventPods)]
}

// eventName returns a name that is the same when the record is sent again, so that the API server refuses the second one.
func eventName(object *corev1.ObjectReference, record plog.LogRecord) string {
	identity := textOf(record.Attributes(), "log.record.uid")
	if identity == "" {
		identity = fmt.Sprint(record.Timestamp(), record.EventName(), record.Attributes().AsRaw(), record.Body().AsString())
	}
	sum := sha256.Sum256([]byte(object.Kind + " " + identity))
	const maxName = 253 - len(".0123456789abcdef")
	return fmt.Sprintf("%s.%x", strings.TrimRight(object.Name[:min(len(object.Name), maxName)], ".-"), sum[:8])
}
