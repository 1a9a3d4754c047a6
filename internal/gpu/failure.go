// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"io/fs"
)

// FailureReason classifies why a source could not be read. Its text in OTLP is error.type.
type FailureReason uint8

// The reasons. The zero reason is one that has no name of its own.
const (
	FailureOther            FailureReason = iota
	FailureToolMissing                    // the vendor's tool is missing, or not in a place from which it may be run
	FailureToolFailed                     // the tool crashed, was killed, or ended without one whole GPU
	FailureTimeout                        // a call or a tool was started and did not return in time
	FailurePermission                     // the machine denies the collector a file, a socket or a permission
	FailureLibrary                        // the driver's library is missing or unusable
	FailureDriver                         // the driver is not loaded, is being replaced, or does not fit its library
	FailureOutput                         // the tool's output cannot be parsed
	FailureAPIUnreachable                 // the Kubernetes API server does not answer
	FailureAPIUnauthorized                // it does not accept the credentials
	FailureAPIForbidden                   // the API server denies a permission
	FailureExec                           // the tool could not be started in the container
	FailureContainerMissing               // a node with GPUs has no container in which its tool could be run
	NumFailureReasons
)

// Failure is why a source could not be read. It is an error, so that a source can return it as one.
type Failure struct {
	Reason FailureReason
	Err    error // what was attempted, on what, and what to do
}

// Error implements error.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// FailureOf returns the failure that an error is or wraps. An error without one gets the reason that the standard library's errors
// show, otherwise FailureOther.
func FailureOf(err error) *Failure {
	if f, ok := errors.AsType[*Failure](err); ok {
		return &Failure{Reason: f.Reason, Err: err}
	}
	reason := FailureOther
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		reason = FailureTimeout
	case errors.Is(err, fs.ErrPermission):
		reason = FailurePermission
	}
	return &Failure{Reason: reason, Err: err}
}
