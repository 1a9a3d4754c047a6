// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"os"
	"slices"
	"strconv"
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

// usedCapabilities are the capabilities that let sources read more, by their numbers.
var usedCapabilities = []struct {
	number uint
	name   string
}{
	{unix.CAP_DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"},
	{unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"},
	{unix.CAP_SYSLOG, "CAP_SYSLOG"},
}

// capabilityNames names what a mask of /proc has of the capabilities that sources use.
func capabilityNames(mask string) string {
	bits, err := strconv.ParseUint(mask, 16, 64)
	if err != nil {
		return "unknown"
	}
	var names []string
	for _, c := range usedCapabilities {
		if bits&(1<<c.number) != 0 {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return "none that sources use"
	}
	return strings.Join(names, " ")
}

// addUser says as whom the sources read, with which groups and capabilities.
func (s *Section) addUser() {
	groups, _ := os.Getgroups()
	slices.Sort(groups)
	found := []string{fmt.Sprintf("user ID %d, group ID %d, groups %v", os.Geteuid(), os.Getegid(), groups)}
	if text, err := readFact("/proc/self/status"); err == nil {
		for line := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(line, "CapEff:"); ok {
				found = append(found, "capabilities "+capabilityNames(strings.TrimSpace(value)))
			}
		}
	}
	if os.Getenv("KUBERNETES_SERVICE_HOST") != "" {
		found = append(found, "in a pod")
	}
	s.add(Note, "user", strings.Join(found, ", "))
}
