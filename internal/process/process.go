// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"time"
)

// process is what is known of one process.
type process struct {
	pid      int64
	start    uint64 // clock ticks since boot
	name     string // the command name, which changes when the process executes another program
	lastRead time.Time
	stat     *os.File // nil if it does not stay open

	details   details
	described bool // the details were read
}
