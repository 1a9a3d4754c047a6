// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package histories plays random histories of simulated machines: GPUs get lost, drivers are replaced, pods come and go, tools print
// garbage, in any order and simultaneously. After each round of steps the World reads its machine and checks the result. When all faults
// are over, the read must show the true state.
//
// A World lists its steps by name. The package chooses among them, decides when to check and when to recover, and prints the last
// steps when a check fails. A history is repeated by its seed: the name of its subtest is the setting that plays it again, as in
//
//	GPURECEIVER_HISTORY=7:1:20 go test -run TestNVML ./test/histories/nodes
//
// which is the history with seed 7, one history, 20 rounds. Messages checks the messages, from one to the next.
package histories
