// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"k8s.io/apimachinery/pkg/util/validation"
)

// nodeOf returns the node that a resource is on. It reports false for what is not to be posted: data without a node's name, of another
// node or of another cluster than the configured ones.
func (c *Config) nodeOf(resource pcommon.Map) (string, bool) {
	node := textOf(resource, "k8s.node.name")
	switch {
	case len(validation.IsDNS1123Subdomain(node)) > 0:
		return "", false
	case c.NodeName != "" && node != c.NodeName, c.ClusterName != "" && textOf(resource, "k8s.cluster.name") != c.ClusterName:
		return "", false
	default:
		return node, true
	}
}

// textOf returns a text among attributes; empty if there is none.
func textOf(attributes pcommon.Map, name string) string {
	if value, ok := attributes.Get(name); ok && value.Type() == pcommon.ValueTypeStr {
		return value.Str()
	}
	return ""
}

// bounded returns a text of others as one line of at most so many bytes: terminals print what the API holds.
func bounded(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) <= most {
		return text
	}
	end := most - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
