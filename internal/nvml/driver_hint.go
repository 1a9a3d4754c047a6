// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
)

// driverHint is what the machine shows of the driver without NVML: the version of the kernel module, and the age of the configured library.
// When it changes, there is reason to try again.
func driverHint(procRoot, libraryPath string) string {
	text, _ := readFile(filepath.Join(procRoot, "driver/nvidia/version"), 256)
	if libraryPath != "" {
		if st, err := os.Stat(libraryPath); err == nil {
			text += st.ModTime().String()
		}
	}
	return text
}
