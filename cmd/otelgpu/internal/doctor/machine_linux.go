// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// addKernel names the running kernel and the distribution of this file system, which is the container's in a container.
func (s *Section) addKernel() {
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		s.add(Note, "kernel", fmt.Sprintf("%s %s", unix.ByteSliceToString(name.Release[:]), unix.ByteSliceToString(name.Machine[:])))
	}
	if text, err := readFact("/etc/os-release"); err == nil {
		for line := range strings.Lines(text) {
			if value, found := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); found {
				s.add(Note, "distribution", strings.Trim(value, `"`))
			}
		}
	}
}

// addUser says as whom the sources read, with which groups and capabilities.
func (s *Section) addUser() {
	groups, _ := os.Getgroups()
	slices.Sort(groups)
	found := []string{fmt.Sprintf("user ID %d, group ID %d, groups %v", os.Geteuid(), os.Getegid(), groups)}
	if text, err := readFact("/proc/self/status"); err == nil {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
				found = append(found, "capabilities "+strings.TrimSpace(value))
			}
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		found = append(found, "in a pod")
	}
	s.add(Note, "user", strings.Join(found, ", "))
}
