// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package attribution

// evidence is how much is known about what a container uses of a leaf device.
//
// It follows from the holders of the device (all are known, the container is the only one, and no other process runs there: "alone"), from
// the placement of the device's processes, and from whether a container that has a process there and holds nothing might be this one, or a
// job that might run in it ("possible user"). Containers, jobs and systemd units are users alike: with a unit's process there, the
// container that holds the device is not alone. A unit, a guest and a job are known by their names, so they are never a possible user of
// the container beside them. A job that is known to run in the container is a user of its own; the container holds the device for the job,
// and is not idle while the job runs:
//
//	container   placement                       possible user   evidence
//	alone       inContainer, ended              -               sole
//	alone       outside                         -               separate
//	alone       unlisted                        -               soleUnlisted
//	alone       unknown                         -               ambiguous
//	not alone   inContainer, ended, outside     no              separate
//	not alone   inContainer, ended, outside     yes             ambiguous
//	not alone   unlisted, unknown               -               ambiguous
//
// It decides what is reported of the container:
//
//	evidence       utilization, memory   power, energy            idle time
//	ambiguous      absent                absent                   absent
//	separate       its processes'        its part of the time     while its processes and its jobs' do nothing, or it has none
//	soleUnlisted   the device's          all                      while the device does nothing
//	sole           the device's          all                      while the device does nothing, or it has no process
//
// What the device does not report is its processes' with sole.
type evidence uint8

const (
	// ambiguous: some process on the device may be the container's without being known to be.
	ambiguous evidence = iota
	// separate: every process on the device is known to be the container's or known not to be.
	separate
	// soleUnlisted: the device is the container's alone, and the driver may not list the processes that it runs there.
	soleUnlisted
	// sole: the device is the container's alone.
	sole
)

func judge(alone bool, processes placement, possibleUser bool) evidence {
	switch {
	case processes == unknown:
		return ambiguous
	case processes == unlisted && alone:
		return soleUnlisted
	case processes == unlisted:
		return ambiguous
	case alone && processes == outside:
		return separate
	case alone:
		return sole
	case possibleUser:
		return ambiguous
	default:
		return separate
	}
}

// hasDevice reports whether the device's readings are the container's.
func (e evidence) hasDevice() bool { return e == sole || e == soleUnlisted }

// hasProcesses reports whether the container's processes on the device are known.
func (e evidence) hasProcesses() bool { return e == sole || e == separate }
