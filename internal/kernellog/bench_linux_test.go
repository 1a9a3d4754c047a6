// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkSyslog is one poll of syslog(2) on this machine; there is one each second. The kernel looks at each of its messages for it. /dev/kmsg
// costs nothing while the log is quiet.
func BenchmarkSyslog(b *testing.B) {
	s, err := openSyslog(unix.Klogctl)
	if err != nil {
		b.Skip("syslog(2) may not be used here: ", err)
	}
	for b.Loop() {
		lines, _, err := s.lines()
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := s.after(lines); !ok {
			b.Fatal("the last lines are gone")
		}
	}
}

func BenchmarkParse(b *testing.B) {
	line := []byte("3,1234,5140900,-;NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP!")
	for b.Loop() {
		r, _ := ParseKmsg(line)
		if len(Parse(&r)) != 1 {
			b.Fatal("no XID")
		}
	}
}
