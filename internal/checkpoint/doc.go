// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package checkpoint keeps in a storage extension what a receiver knows, and the records that no consumer has accepted, so that both
// outlive the process.
//
//	state/<key>       what is known of one source, as JSON (snapshot.go)
//	part/<key>/<name> a part of it that is written alone, when it changes (parts.go)
//	event/<number>    a message that waits, as OTLP (queue.go)
//	queue             the numbers of the first message and of the next one
//
// store.go has what a receiver calls when it knows more, delivery.go what it calls to send what waits, open.go what is read at the start and
// write.go how all of it is written.
//
// What a read has changed and the records that it made are written in one batch, before the records are sent. A message is removed when
// it was accepted. So a process that is killed between any two steps sends a record again, with the same log.record.uid, or finds the
// change again; it does neither lose a record nor make it twice.
package checkpoint
