// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpuledgerexporter // import "github.com/otelgpu/gpureceiver/exporter/ledger"

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
)

// maxName is how long a name may be in the tables, in characters.
const maxName = 255

// timeFormat is how times are written. Times of this form sort as text, as SQLite keeps them.
const timeFormat = "2006-01-02 15:04:05.000000"

func timeText(t time.Time) string { return t.UTC().Format(timeFormat) }

// attributes reads the attributes of a log record or a point; a missing one is looked up in the resource.
type attributes struct {
	own, resource pcommon.Map
}

func (a attributes) get(name string) (pcommon.Value, bool) {
	if v, ok := a.own.Get(name); ok {
		return v, true
	}
	return a.resource.Get(name)
}

// text returns an attribute as it can be stored in a column; empty if it is missing.
func (a attributes) text(name string) string {
	v, ok := a.get(name)
	if !ok {
		return ""
	}
	return storable(v.AsString())
}

// value returns an attribute of bounded length, nil if it is missing.
func (a attributes) value(name string) any { return nullable(shortened(a.text(name))) }

// number returns an attribute if it is a number, otherwise nil.
func (a attributes) number(name string) any {
	v, ok := a.get(name)
	switch {
	case ok && v.Type() == pcommon.ValueTypeInt:
		return v.Int()
	case ok && v.Type() == pcommon.ValueTypeDouble:
		return v.Double()
	}
	return nil
}

func (a attributes) flag(name string) any {
	if v, ok := a.get(name); ok && v.Type() == pcommon.ValueTypeBool {
		return v.Bool()
	}
	return nil
}

// timeValue returns an attribute if it is a time (ISO 8601), otherwise nil.
func (a attributes) timeValue(name string) any {
	if t, err := time.Parse(time.RFC3339Nano, a.text(name)); err == nil {
		return timeText(t)
	}
	return nil
}

// list returns a list as JSON, nil if it is missing.
func (a attributes) list(name string) any {
	v, ok := a.get(name)
	if !ok || v.Type() != pcommon.ValueTypeSlice {
		return nil
	}
	return storable(v.AsString())
}

// labels returns the labels and annotations of pods as JSON, nil if there are none.
func (a attributes) labels() any {
	labels := map[string]string{}
	for _, m := range []pcommon.Map{a.resource, a.own} {
		for name, value := range m.All() {
			if strings.HasPrefix(name, "k8s.pod.label.") || strings.HasPrefix(name, "k8s.pod.annotation.") {
				labels[storable(name)] = storable(value.AsString())
			}
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return jsonText(labels)
}

// names sets columns to attributes: a column is named as its attribute, with underscores.
func (a attributes) names(values map[string]any, names ...string) {
	for _, name := range names {
		values[columnName(name)] = a.value(name)
	}
}

func (a attributes) numbers(values map[string]any, names ...string) {
	for _, name := range names {
		values[columnName(name)] = a.number(name)
	}
}

func columnName(attribute string) string { return strings.ReplaceAll(attribute, ".", "_") }

func jsonText(v any) string {
	text, _ := json.Marshal(v) // maps and lists of texts and numbers
	return string(text)
}

// storable returns a text without what databases refuse: NUL, and what is not UTF-8.
func storable(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= maxName {
		return text
	}
	return string([]rune(text)[:maxName])
}

func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// identifier is the same UUID for the same names.
func identifier(names ...string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte(strings.Join(names, "\x00"))).String()
}

// holderOf returns what identifies a container, job or unit, however it is known; the same on a record and on a point.
func holderOf(a attributes) string {
	if uid := a.text("k8s.pod.uid"); uid != "" {
		return identifier("pod", uid, a.text("k8s.container.name"), a.text("slurm.job.id"))
	}
	if pod := a.text("k8s.pod.name"); pod != "" {
		return identifier("pod", a.text("k8s.cluster.name"), a.text("k8s.namespace.name"), pod, a.text("k8s.container.name"), a.text("slurm.job.id"))
	}
	node := cmp.Or(a.text("k8s.node.name"), a.text("host.name"))
	if job := cmp.Or(a.text("slurm.job.id"), a.text("slurm.job.sluid"), a.text("batch.job.id")); job != "" {
		return identifier("job", node, a.text("batch.system"), job)
	}
	return identifier("other", node, cmp.Or(a.text("systemd.unit.name"), a.text("container.id"), a.text("container.name")))
}
