// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fractions

import "strings"

// IsKey reports whether a label or an annotation of a pod has this key and may say which part of a GPU the pod was given.
func IsKey(key string) bool {
	switch key {
	case groupLabel, fractionAnnotation, memoryAnnotation, containerAnnotation,
		hamiAnnotation, volcanoAnnotation,
		gpushareIndex, gpusharePod, gpushareDevice:
		return true
	}
	if strings.HasPrefix(key, groupPrefix) {
		return true
	}
	_, ok := containerOf(key, memoryRequestSuffix)
	if !ok {
		_, ok = containerOf(key, memoryLimitSuffix)
	}
	return ok
}
