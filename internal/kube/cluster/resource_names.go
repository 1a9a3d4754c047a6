// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// DefaultResources returns the names of the resources that represent GPUs, including the names of NVIDIA's plugin if it renames shared ones
// (renameByDefault), and of AMD's if it names partitions by their modes (resource_naming_strategy mixed).
func DefaultResources() []string {
	return []string{"nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*", "amd.com/gpu", "amd.com/?px_nps?"}
}

// CheckResources checks names of resources. Each is a name or a pattern as in path.Match: * matches any characters but a slash, and ?
// matches one.
func CheckResources(patterns []string) error {
	if len(patterns) == 0 {
		return errors.New("at least one name must be given")
	}
	for _, pattern := range patterns {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, " \t\n") {
			return fmt.Errorf("%q is not the name of a resource or a pattern such as nvidia.com/mig-*", pattern)
		}
	}
	return nil
}

// resourceNames are patterns of the resources that are counted.
type resourceNames []string

func (names resourceNames) match(resource string) bool {
	return slices.ContainsFunc(names, func(pattern string) bool {
		matched, _ := path.Match(pattern, resource)
		return matched
	})
}
