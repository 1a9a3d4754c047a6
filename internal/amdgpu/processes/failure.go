// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"errors"
	"fmt"
)

// ErrBlocked is reported for processes with a file that did not answer in time.
var ErrBlocked = errors.New("did not answer in time; these processes are left out until it does")

func blockedError(file string, pids []int64) error {
	const shown = 10
	more := ""
	if len(pids) > shown {
		more = fmt.Sprintf(" and %d more", len(pids)-shown)
		pids = pids[:shown]
	}
	return fmt.Errorf("amdgpu: processes: read the %s of %v%s: %w", file, pids, more, ErrBlocked)
}

var (
	errTooMany    = errors.New("too many; those beyond the limit are left out")
	errPermission = errors.New("not permitted for every process; grant the collector CAP_SYS_PTRACE, and with AppArmor an unconfined profile. Until then the memory and time" +
		" of these processes are known only if KFD shows them")
)
