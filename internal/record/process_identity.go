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

// identify returns the identity of a process. known is the identity of the process that had the PID at the last read, or nil. Another
// creation time means another process, and another executable file another program. Values that were not read before are added.
func identify(p *gpu.Process, known *processIdentity) *processIdentity {
	switch {
	case known == nil,
		!p.Created.IsZero() && !known.created.IsZero() && !p.Created.Equal(known.created),
		p.Program != "" && known.program != "" && p.Program != known.program:
		known = &processIdentity{}
	}
	if known.created.IsZero() {
		known.created = p.Created
	}
	if known.program == "" && p.Program != "" { // the name so far was the command name or the tool's
		known.program, known.executable = p.Program, p.Executable
	}
	known.executable = cmp.Or(known.executable, p.Executable)
	known.command = cmp.Or(known.command, p.Command)
	known.commandLine = cmp.Or(known.commandLine, p.CommandLine)
	known.owner = cmp.Or(known.owner, p.Owner)
	known.userID = known.userID.Or(p.UserID)
	if p.Container != nil { // its names may come later than the process
		known.container = p.Container
	}
	return known
}
