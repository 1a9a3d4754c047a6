// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpureceiver // import "github.com/otelgpu/gpureceiver/receiver"

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kernellog"
	"github.com/otelgpu/gpureceiver/internal/record"
)

const kernelLogKey = "kernel_log"

// followsKernelLog reports whether the kernel's log is followed for the GPUs that a scraper reads.
func (c *Config) followsKernelLog(key string) bool {
	return c.KernelLog != nil && scraperKinds[key].local() && record.OfKernelLog(&c.Events, scraperKinds[key].vendor)
}

// kernelSysfs returns the mount point of sysfs of the machine whose kernel's log is followed.
func (c *Config) kernelSysfs() string {
	if c.KernelLog == nil {
		return ""
	}
	return filepath.Join(c.KernelLog.RootPath, "sys")
}

// kernelLogUsed refuses kernel_log if no scraper reads this machine, whose kernel it is.
func (c *Config) kernelLogUsed() error {
	if c.KernelLog == nil || slices.ContainsFunc(c.scraperKeys(), func(key string) bool { return scraperKinds[key].local() }) {
		return nil
	}
	return fmt.Errorf("%s: is for the GPUs of this machine, which no scraper reads: leave it out", kernelLogKey)
}

// kernelLogWarnings returns why kernel_log has no effect.
func (c *Config) kernelLogWarnings() []string {
	if c.KernelLog == nil || slices.ContainsFunc(c.scraperKeys(), c.followsKernelLog) {
		return nil
	}
	return []string{kernelLogKey + ": has no effect: all events that come from the kernel's log are disabled; enable one of them, or leave kernel_log out"}
}

// kernelLog follows the kernel's log for the scrapers of this machine. A nil kernelLog follows nothing.
type kernelLog struct {
	follower *kernellog.Follower
	reporter string // the scraper whose reads have the problems
	overruns int64  // that were reported
}

// newKernelLog returns nil if nothing of the log is sent.
func newKernelLog(m *machine) *kernelLog {
	if m.cfg.KernelLog != nil && m.logs == nil {
		m.logger.Warn(kernelLogKey + ": has no effect without a logs pipeline; add the receiver to a logs pipeline, or leave kernel_log out")
	}
	keys := m.cfg.scraperKeys()
	first := slices.IndexFunc(keys, m.cfg.followsKernelLog)
	if m.logs == nil || first < 0 {
		return nil
	}
	return &kernelLog{reporter: keys[first], follower: kernellog.New(*m.cfg.KernelLog, func(messages []kernellog.Event) {
		host := m.currentHost()
		for _, l := range m.local {
			l.pipeline.AddKernelLog(&host, messages)
		}
	})}
}

// start begins to follow the log. A log that cannot be read is a problem of the reads of one scraper, and no error.
func (k *kernelLog) start() {
	if k != nil {
		k.follower.Start()
	}
}

// problems returns to one of the scrapers why the log cannot be read, or that some of it was not.
func (k *kernelLog) problems(scraper string) []gpu.Problem {
	if k == nil || k.reporter != scraper {
		return nil
	}
	err := k.follower.Problem()
	if overruns := k.follower.Overruns(); overruns > k.overruns {
		err = errors.Join(err, fmt.Errorf("the kernel wrote faster than its log was read, %d times since the last read: XIDs may lack the kernel's time and process,"+
			" and other errors may be missing; enlarge the log (log_buf_len)", overruns-k.overruns))
		k.overruns = overruns
	}
	if err == nil {
		return nil
	}
	return []gpu.Problem{{What: "kernel log", Err: err}}
}

// reading reports whether the log is read at present.
func (k *kernelLog) reading() bool { return k != nil && k.follower.Reading() }

func (k *kernelLog) close() {
	if k != nil {
		k.follower.Close()
	}
}
