// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"fmt"
	"path/filepath"
	"strings"
)

// The methods to read the kernel's log.
const (
	MethodAuto   = "auto"   // kmsg, else syslog
	MethodKmsg   = "kmsg"   // the device /dev/kmsg
	MethodSyslog = "syslog" // the system call syslog(2)
)

// Config is the configuration of kernel_log.
type Config struct {
	// Method is how the log is read: auto, kmsg or syslog.
	Method string `mapstructure:"method"`
	// RootPath is the mount point of the machine's file system: / on the machine itself. kmsg is read below its dev.
	RootPath string `mapstructure:"root_path"`
}

// DefaultConfig is the configuration of kernel_log without a value.
func DefaultConfig() Config { return Config{Method: MethodAuto, RootPath: "/"} }

// Validate implements confmap.Validator.
func (c *Config) Validate() error {
	methods := []string{MethodAuto, MethodKmsg, MethodSyslog}
	switch c.Method {
	case MethodAuto, MethodKmsg, MethodSyslog:
	default:
		return fmt.Errorf("method: %q is unknown; allowed are %s", c.Method, strings.Join(methods, ", "))
	}
	if !filepath.IsAbs(c.RootPath) {
		return fmt.Errorf("root_path: %q is not an absolute path; give the directory in which the machine's dev is, / for this machine", c.RootPath)
	}
	return nil
}
