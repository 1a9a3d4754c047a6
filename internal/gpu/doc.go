// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpu is the vendor-neutral vocabulary of the receiver: what a source reads (Node, Device, Process, Event), who
// uses it (Container, Holder), and the optional value types in between. It imports nothing of ours.
//
// Every quantity is SI: bytes, watts, joules, hertz, seconds, fractions from 0 to 1, degrees Celsius. The source converts
// at the edge where it reads. A value that was not read is absent: the zero Opt and the zero Counter.
package gpu
