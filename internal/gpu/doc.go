// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package gpu is the vocabulary of the receiver, common to all vendors: what a source reads (Node, Device, Process, Event), holders and
// users of devices (Container, Holder), and the types of optional values. It imports no other package of the receiver.
//
// Quantities have SI units: bytes, watts, joules, hertz, seconds, fractions from 0 to 1, degrees Celsius. The source converts them when it
// reads them. A value that was not read is absent: the zero Opt or the zero Counter.
package gpu
