// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import "fmt"

// deviceNode is a file by which programs reach a driver.
type deviceNode struct {
	path   string
	mode   string
	owner  string // user and group, by number
	access string // why this process may not open it, or that it may
}

// String is a line of a list.
func (n deviceNode) String() string {
	return fmt.Sprintf("%s %s %s, %s", n.path, n.mode, n.owner, n.access)
}
