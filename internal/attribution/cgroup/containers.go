// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"strconv"
	"strings"
)

// podUID parses the name of a pod's control group: pod<uid> with the cgroupfs driver, and with the systemd driver
// [prefix-]kubepods[-burstable|-besteffort]-pod<uid with _ for ->.slice, where prefix is the kubelet's own root.
func podUID(name string) string {
	if slice, ok := strings.CutSuffix(name, ".slice"); ok {
		i := strings.LastIndex(slice, "-pod")
		if i < 0 || !strings.Contains(slice[:i], "kubepods") {
			return ""
		}
		return uid(slice[i+len("-pod"):])
	}
	rest, ok := strings.CutPrefix(name, "pod")
	if !ok {
		return ""
	}
	return uid(rest)
}

// uid returns a pod's UID with dashes: a UUID, or the 32 hex digits of a static pod's hash. It is empty if s is neither.
func uid(s string) string {
	switch len(s) {
	case 32:
		if isHex(s) {
			return s
		}
	case 36:
		dashed := strings.ReplaceAll(s, "_", "-")
		rest := dashed
		for i, length := range [...]int{8, 4, 4, 4, 12} {
			part, after, more := strings.Cut(rest, "-")
			if len(part) != length || !isHex(part) || more != (i < 4) {
				return ""
			}
			rest = after
		}
		return dashed
	}
	return ""
}

// containerID parses the name of a container's control group: <id> with the cgroupfs driver, <runtime>-<id>.scope with the systemd driver.
// The ID has 64 hex digits with every runtime except ECS on Fargate, which uses <32 hex digits>-<number>. The control groups of a runtime's
// monitor process (conmon) and of a Podman pod have an ID, but are not the container.
func containerID(name string, above []string) string {
	if parent(above) == "libpod_parent" && !strings.HasPrefix(name, "libpod-") {
		return ""
	}
	if isFargate(name, above) {
		return name
	}
	name = strings.TrimSuffix(name, ".scope")
	i := strings.LastIndexByte(name, '-')
	if i >= 0 && strings.HasSuffix(name[:i], "conmon") {
		return ""
	}
	id := name[i+1:]
	if len(id) != 64 || !isHex(id) {
		return ""
	}
	return id
}

// isFargate reports whether a name is the name of a container of ECS on Fargate: /ecs/<task>-<number> or /ecs/<task>/<task>-<number>.
func isFargate(name string, above []string) bool {
	task, number, ok := strings.Cut(name, "-")
	if !ok || len(task) != 32 || !isHex(task) || !isDecimal(number) {
		return false
	}
	return parent(above) == "ecs" || (len(above) > 1 && above[len(above)-2] == "ecs" && parent(above) == task)
}

// parent returns the name of the control group above; empty if there is no such group.
func parent(above []string) string {
	if len(above) == 0 {
		return ""
	}
	return above[len(above)-1]
}

// unescape undoes systemd's escapes of characters (\x2d for a dash) in the name of a unit.
func unescape(name string) string {
	for i := strings.Index(name, `\x`); i >= 0 && i+4 <= len(name); {
		c, err := strconv.ParseUint(name[i+2:i+4], 16, 8)
		if err != nil || c < ' ' || c > '~' {
			return name
		}
		name = name[:i] + string(rune(c)) + name[i+4:]
		next := strings.Index(name[i+1:], `\x`)
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return name
}

func isHex(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}

// isDecimal reports whether s is a number of at most 20 digits.
func isDecimal(s string) bool { return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == "" }
