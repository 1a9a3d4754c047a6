// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"slices"
	"strings"
)

// jobManagers are the units below which a batch system may run all its jobs. A process in one of them may be in any job, so the unit says
// nothing of who it is.
var jobManagers = []string{
	"condor.service", "flux.service", "lsfd.service", "nomad.service", "pbs.service", "pbs_jobs.service", "sge_execd.service",
	"slurmd.service", "slurmstepd.scope", "hadoop-yarn-nodemanager.service",
}

// unitOf returns the unit of a path outside of containers and jobs: the first service or scope. In user@<uid>.service that is a unit of the
// user's own manager, or none.
func unitOf(names []string) string {
	inUserManager := false
	for _, name := range names {
		switch {
		case !isUnit(name):
		case isUserManager(name):
			inUserManager = true
		case slices.Contains(jobManagers, name), isSlurmScope(name):
			return ""
		case inUserManager && name == "init.scope":
			return "" // the manager itself
		default:
			return name
		}
	}
	return ""
}

func isUnit(name string) bool {
	return strings.HasSuffix(name, ".service") || strings.HasSuffix(name, ".scope")
}

// isUserManager reports whether a unit is the unit of a user's own systemd, user@<uid>.service.
func isUserManager(name string) bool {
	rest, ok := strings.CutPrefix(name, "user@")
	uid, isService := strings.CutSuffix(rest, ".service")
	return ok && isService && isDecimal(uid)
}
