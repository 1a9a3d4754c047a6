// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"
	"fmt"
	"strings"
)

// CheckNodeLabels checks the keys of node labels that are sent. Each error has the position of its key.
func CheckNodeLabels(keys []string) error {
	var errs []error
	for i, label := range keys {
		key := strings.TrimSuffix(label, "*")
		if label == "" || strings.ContainsAny(key, "* \t\n") {
			errs = append(errs, fmt.Errorf("%d: %q is not the key of a label; * is allowed only at its end", i, label))
		}
	}
	return errors.Join(errs...)
}

// SelectNodeLabels returns the labels of a node that are sent, by the names of their resource attributes; nil if there are none. A key
// may end with *.
func SelectNodeLabels(labels map[string]string, keys []string) map[string]string {
	var selected map[string]string
	for key, value := range labels {
		if matches(key, keys) {
			if selected == nil {
				selected = make(map[string]string)
			}
			selected["k8s.node.label."+key] = value
		}
	}
	return selected
}

func matches(key string, keys []string) bool {
	for _, k := range keys {
		prefix, open := strings.CutSuffix(k, "*")
		if key == k || open && strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}
