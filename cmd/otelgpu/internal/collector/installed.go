// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package collector

import (
	"os"
	"os/exec"
	"path/filepath"
)

const (
	program   = "otelcol-gpu"
	builtHere = "dist/" + program // in a checkout
	runConfig = "config/run.yaml" // in a checkout and in an unpacked archive
)

// installedConfigs are the directories in which the packages, and the documented installation of the archive, put config/.
var installedConfigs = []string{"/usr/share/otelcol-gpu", "/usr/local/share/otelcol-gpu"}

// FindProgram returns the collector of a checkout, the collector beside this program, or the one in PATH; the first of these if all are missing.
func FindProgram() string {
	if found := firstFile(builtHere, filepath.Join(ownDirectory(), program)); found != "" {
		return found
	}
	if found, err := exec.LookPath(program); err == nil {
		return found
	}
	return builtHere
}

// FindConfig returns run.yaml of a checkout or an unpacked archive, or the installed one; the first of these if all are missing.
func FindConfig() string {
	places := []string{runConfig, filepath.Join(ownDirectory(), runConfig)}
	for _, directory := range installedConfigs {
		places = append(places, filepath.Join(directory, runConfig))
	}
	if found := firstFile(places...); found != "" {
		return found
	}
	return runConfig
}

func firstFile(paths ...string) string {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// ownDirectory is the directory of this program.
func ownDirectory() string {
	own, err := os.Executable()
	if err != nil {
		return ""
	}
	if resolved, err := filepath.EvalSymlinks(own); err == nil {
		own = resolved
	}
	return filepath.Dir(own)
}
