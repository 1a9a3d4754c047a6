// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/view"
)

const (
	maxEventAttributes = 32
	maxEventText       = 512
	uidAttribute       = "log.record.uid"
)

// eventPrefixes are how the names of the receiver's events begin.
var eventPrefixes = [...]string{"hw.gpu.", "process.gpu.", "container.gpu.", "k8s.pod.gpu.", "k8s.workload.gpu."}

// isEvent reports whether a log record is one of the receiver.
func isEvent(record plog.LogRecord) bool {
	name := record.EventName()
	return len(name) <= maxNameLength && slices.ContainsFunc(eventPrefixes[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// eventOf returns the event of a log record.
func eventOf(resource pcommon.Map, record plog.LogRecord, now time.Time) view.Event {
	event := view.Event{
		Name: strings.Clone(record.EventName()), Time: timeOf(record.Timestamp()), Observed: timeOf(record.ObservedTimestamp()),
		Severity: severityOf(record), Body: copyOf(record.Body().AsString()), GPU: copyOf(text(record.Attributes(), "hw.id")),
		Attributes: attributesOf(record.Attributes()),
	}
	if event.Observed.IsZero() {
		event.Observed = now
	}
	if event.Time.IsZero() {
		event.Time = event.Observed
	}
	key, ok := nodeOf(resource)
	if !ok {
		key, _ = nodeOf(record.Attributes())
	}
	event.Node = copyOf(key.name)
	event.Cluster = copyOf(cmp.Or(key.cluster, text(resource, "k8s.cluster.name"), text(record.Attributes(), "k8s.cluster.name")))
	event.UID = *uidOf(&event, text(record.Attributes(), uidAttribute))
	return event
}

func timeOf(timestamp pcommon.Timestamp) time.Time {
	if timestamp == 0 || timestamp > math.MaxInt64 {
		return time.Time{}
	}
	return timestamp.AsTime()
}

// severityOf returns the severity without its grade: WARN, not WARN2.
func severityOf(record plog.LogRecord) string {
	if n := record.SeverityNumber(); n > plog.SeverityNumberUnspecified && n <= plog.SeverityNumberFatal4 {
		return [...]string{"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}[(n-1)/4]
	}
	if level := copyOf(record.SeverityText()); level != nil {
		return *level
	}
	return "UNSPECIFIED"
}

func copyOf(s string) *string {
	if s == "" {
		return nil
	}
	s = gpu.BoundedText(s, maxEventText)
	return &s
}

// attributesOf returns attributes as they were sent: texts, numbers and truth values. Other values are converted to text.
func attributesOf(source pcommon.Map) map[string]any {
	attributes := make(map[string]any, min(source.Len(), maxEventAttributes))
	for name, v := range source.All() {
		if len(attributes) == maxEventAttributes || len(name) > maxNameLength || name == uidAttribute {
			continue
		}
		name = gpu.BoundedText(name, maxNameLength)
		switch v.Type() {
		case pcommon.ValueTypeInt:
			attributes[name] = v.Int()
		case pcommon.ValueTypeBool:
			attributes[name] = v.Bool()
		case pcommon.ValueTypeDouble:
			if !math.IsNaN(v.Double()) && !math.IsInf(v.Double(), 0) {
				attributes[name] = v.Double()
			}
		default:
			if value := copyOf(v.AsString()); value != nil {
				attributes[name] = *value
			}
		}
	}
	return attributes
}

// uidOf returns the identity that was sent, else one that the same event has each time that it is sent.
func uidOf(event *view.Event, identity string) *string {
	if identity != "" {
		return copyOf(identity)
	}
	hash := sha256.New()
	for _, part := range []*string{event.Node, event.Cluster, event.Body} {
		_, _ = fmt.Fprintf(hash, "%q", shownText(part))
	}
	_, _ = fmt.Fprintf(hash, "%q %d", event.Name, event.Time.UnixNano())
	for _, name := range slices.Sorted(maps.Keys(event.Attributes)) {
		_, _ = fmt.Fprintf(hash, "%q %q", name, fmt.Sprint(event.Attributes[name]))
	}
	uid := hex.EncodeToString(hash.Sum(nil)[:16])
	return &uid
}

func shownText(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
