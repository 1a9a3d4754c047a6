// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package kernellog follows the kernel's log and finds in it what the drivers of GPUs report.
//
//	/dev/kmsg, syslog(2) → Record → Parse → Event
//
// record.go and syslog_text.go read the two forms of the log; nvidia.go, amdgpu.go and aer.go know the lines. A Follower reads what is new.
// clock.go converts the time of a line to the time of day.
//
// Only the kernel's own lines count. What a program writes to /dev/kmsg comes back with another facility and is left out, so a program that
// may write there cannot invent a fault.
package kernellog
