// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package parse

import "bytes"

// reason is why the tool printed a text instead of a value.
type reason uint8

const (
	reasonAbsent        reason = iota // the GPU, the driver or the system does not have the quantity
	reasonLost                        // the GPU has fallen off the bus
	reasonResetRequired               // the GPU needs a reset
	reasonError                       // anything else, which is reported as a problem
)

// reasonOf reads the text that replaces a value.
func reasonOf(b []byte) reason {
	b = inBrackets(b)
	switch string(b) {
	case "", "-", "--", "N/A", "n/a", "None", "Not Supported", "Not supported", "Not Available", "Not Found", functionNotFound,
		"Requested functionality has been deprecated", "No Data", "No data", "System is not in ready state", "Not Applicable":
		return reasonAbsent
	}
	switch {
	case isNoValue(b):
		return reasonAbsent
	case containsFold(b, "gpu is lost"), containsFold(b, "fallen off the bus"):
		return reasonLost
	case containsFold(b, "requires reset"), containsFold(b, "reset required"), containsFold(b, "needs reset"),
		containsFold(b, "reset must occur"):
		return reasonResetRequired
	}
	return reasonError
}

// functionNotFound is printed if the driver's library lacks the function that reads the quantity.
const functionNotFound = "Function Not Found"

// isErrorString reports whether a text is an error message that the tool prints without brackets in the place of a value
// which could be any text. They are the messages of nvmlErrorString.
func isErrorString(b []byte) bool {
	if r := reasonOf(b); r == reasonLost || r == reasonResetRequired {
		return true
	}
	switch string(b) {
	case "Unknown Error", "Insufficient Permissions", "ERR!", "Corrupted infoROM", "Timeout", "Uninitialized", "Invalid Argument",
		"Insufficient Size", "Insufficient External Power", "Insufficient Memory", "Insufficient Resources", "Driver Not Loaded",
		"Interrupt Request Issue", "NVML Shared Library Not Found", "GPU access blocked by the operating system",
		"Driver/library version mismatch", "In use by another client", "Argument version mismatch", "No GPUs were found",
		"Resource not in correct state":
		return true
	}
	return false
}

// freeText reads a value that can be any text. ok is false if a reason replaces it, in brackets or without.
func freeText(printed []byte) (value string, ok bool) {
	printed = bytes.TrimSpace(printed)
	bracketed := len(inBrackets(printed)) != len(printed)
	if bracketed || reasonOf(printed) == reasonAbsent || isErrorString(printed) {
		return "", false
	}
	return text(printed), true
}
