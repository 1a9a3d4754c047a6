// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

const remedy = "on a machine, run the collector with CAP_SYSLOG and let it open /dev/kmsg; in a pod, add the capability SYSLOG to the container" +
	" (deploy/kubernetes/components/kernel-log); or leave kernel_log out"

// openLog opens the log by the configured method.
func openLog(cfg Config) (source, error) {
	path := filepath.Join(cfg.RootPath, "dev/kmsg")
	var failed []error
	if cfg.Method != MethodSyslog {
		log, err := openKmsg(path)
		if err == nil {
			return log, nil
		}
		failed = append(failed, err)
	}
	if cfg.Method != MethodKmsg {
		log, err := openSyslog(unix.Klogctl)
		if err == nil {
			return log, nil
		}
		failed = append(failed, err)
	}
	return nil, fmt.Errorf("follow the kernel's log: %w; %s", errors.Join(failed...), remedy)
}

// times returns the time of day and the time on CLOCK_MONOTONIC.
func times() (now time.Time, monotonic time.Duration) {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // cannot fail
	return time.Now(), time.Duration(t.Nano())
}
