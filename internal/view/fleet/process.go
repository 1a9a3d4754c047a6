// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// process is the use of one device by one process.
type process struct {
	readings
	user                                            view.User
	kind, name, command, commandLine, owner, userID *string
	created                                         *time.Time
}

func (p *process) describe(resource, point pcommon.Map, shared *texts) {
	setUser(&p.user, resource, point, shared)
	shared.set(&p.kind, text(point, "process.gpu.type"))
	shared.set(&p.name, text(resource, "process.executable.name"))
	shared.set(&p.command, text(resource, "process.command"))
	shared.set(&p.commandLine, text(resource, "process.command_line"))
	shared.set(&p.owner, text(resource, "process.owner"))
	shared.set(&p.userID, text(resource, "process.user.id"))
	created, err := time.Parse(time.RFC3339Nano, text(resource, "process.creation.time"))
	switch {
	case err != nil || created.UTC().Year() < 1 || created.UTC().Year() > 9999:
		p.created = nil
	case p.created == nil || !p.created.Equal(created):
		created = created.UTC()
		p.created = &created
	}
}
