// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package pipeline takes the GPUs of one node from what a source reads to what is sent:
//
//	Node → identities → processes → attribution → state changes, use → record
//
// The scrapers of this machine and kubernetes_exec share it. A Reader takes the steps up to attribution, within the timeout
// of a read. A Pipeline takes the others and keeps what outlives a read: the states and the last indexes of the devices, the
// processes, the problems that were logged, the start times of counters, and the events that wait for a logs pipeline.
package pipeline
