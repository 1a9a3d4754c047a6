// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"strings"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.uber.org/zap"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// maxNameLength is the longest name of a node, and the longest ID of a device. What is longer is ignored: a cut ID is another ID.
const maxNameLength = 256

// maxLabelCount is how many labels of a node or a pod are kept.
const maxLabelCount = 128

const (
	nodeLabel = "k8s.node.label."
	podLabel  = "k8s.pod.label."
)

// nodeKey names a node, with an empty name a cluster.
type nodeKey struct{ cluster, name string }

// fields returns the node's names for a line of the log, followed by others. The node is k8s.node.name or host.name.
func (k nodeKey) fields(others ...zap.Field) []zap.Field {
	fields := []zap.Field{zap.String("node", k.name)}
	if k.cluster != "" {
		fields = append(fields, zap.String("k8s.cluster.name", k.cluster))
	}
	return append(fields, others...)
}

// nodeOf returns the node that attributes name. It returns false if they name no node.
func nodeOf(attributes pcommon.Map) (nodeKey, bool) {
	key := nodeKey{cluster: text(attributes, "k8s.cluster.name"), name: text(attributes, "k8s.node.name")}
	if key.name == "" {
		key.name = text(attributes, "host.name")
	}
	return key, key.name != "" && validName(key.name) && validName(key.cluster)
}

func validName(name string) bool { return len(name) <= maxNameLength && utf8.ValidString(name) }

func text(attributes pcommon.Map, name string) string {
	v, ok := attributes.Get(name)
	switch {
	case !ok:
		return ""
	case v.Type() == pcommon.ValueTypeStr:
		return v.Str()
	case v.Type() == pcommon.ValueTypeInt: // a label such as hw.gpu.xid
		return v.AsString()
	default:
		return ""
	}
}

func integer(attributes pcommon.Map, name string) (int64, bool) {
	v, ok := attributes.Get(name)
	if !ok || v.Type() != pcommon.ValueTypeInt {
		return 0, false
	}
	return v.Int(), true
}

// labelsOf returns the labels of a node or a pod by their names in Kubernetes: known if nothing has changed or no labels are sent.
func labelsOf(prefix string, attributes pcommon.Map, known map[string]string, shared *texts) map[string]string {
	count, same := 0, true
	for name, v := range attributes.All() {
		label, ok := strings.CutPrefix(name, prefix)
		if !ok || count == maxLabelCount || len(label) > maxNameLength {
			continue
		}
		count++
		old, ok := known[label]
		same = same && ok && old == gpu.Cut(v.AsString(), maxTextLength)
	}
	if count == 0 || same && count == len(known) {
		return known
	}
	labels := make(map[string]string, count)
	for name, v := range attributes.All() {
		if label, ok := strings.CutPrefix(name, prefix); ok && len(labels) < maxLabelCount && len(label) <= maxNameLength {
			labels[*shared.share(label)] = *shared.share(v.AsString())
		}
	}
	return labels
}
