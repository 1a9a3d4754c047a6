// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package release

import (
	"os/exec"
	"strconv"
	"testing"
)

// scrape is the Prometheus endpoint on a port of 127.0.0.1 in the network of a process; empty while nothing answers.
func scrape(t *testing.T, pid int, port string) string {
	t.Helper()
	const get = `exec 3<>"/dev/tcp/127.0.0.1/$0" && printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3 && cat <&3`
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net=/proc/"+strconv.Itoa(pid)+"/ns/net", "bash", "-c", get, port).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
