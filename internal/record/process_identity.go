// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"time"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// processIdentity identifies a process on its series, in addition to the PID. It keeps the values of the first read that had them: a
// process that renames itself or rewrites its command line stays one series.
type processIdentity struct {
	created     time.Time
	program     string
	executable  string
	command     string
	commandLine string
	userID      gpu.Opt[int64]
	owner       string
	container   *gpu.Container // as last known: a read that does not find it does not start another series
}

// identify returns the identity of a process. last is the identity of the process that had the PID at the last read, or nil. Another
// creation time means another process, and another executable file another program. Values that were not read before are added.
func identify(p *gpu.Process, last *processIdentity) *processIdentity {
	switch {
	case last == nil,
		!p.Created.IsZero() && !last.created.IsZero() && !p.Created.Equal(last.created),
		p.Program != "" && last.program != "" && p.Program != last.program:
		last = &processIdentity{}
	}
	if last.created.IsZero() {
		last.created = p.Created
	}
	if last.program == "" && p.Program != "" { // the name so far was the command name or the tool's
		last.program, last.executable = p.Program, p.Executable
	}
	last.executable = cmp.Or(last.executable, p.Executable)
	last.command = cmp.Or(last.command, p.Command)
	last.commandLine = cmp.Or(last.commandLine, p.CommandLine)
	last.owner = cmp.Or(last.owner, p.Owner)
	last.userID = last.userID.Or(p.UserID)
	if p.Container != nil { // its names may come later than the process
		last.container = p.Container
	}
	return last
}
