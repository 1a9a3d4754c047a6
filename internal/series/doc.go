// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package series ends the series that a source no longer sends, with OTLP's flag for "no recorded value". Without it a backend shows the
// last value for minutes after a process or a container has ended, or after a read has failed.
//
// A series is a metric with the attributes of its resource and of its point. Each source has a Tracker, which compares each message with
// the message before.
package series
