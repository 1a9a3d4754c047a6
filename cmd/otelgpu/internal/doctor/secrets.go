// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "regexp"

const removed = "[removed]"

var (
	// userInfo is the user and the password of an address, up to the last @: a password that is not escaped may have any character.
	userInfo = regexp.MustCompile(`(://)[^\s"']+@`)
	// bearer is a token as it appears in a header.
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
)

// withoutSecrets returns a text without passwords in addresses and without credentials of headers. Errors of libraries could have them.
func withoutSecrets(text string) string {
	text = userInfo.ReplaceAllString(text, "${1}"+removed+"@")
	return bearer.ReplaceAllString(text, "${1} "+removed)
}
