// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"os"
	"path/filepath"
)

// hint is what the machine shows of the driver without being asked through NVML. When it changes, there is reason to try
// again.
func hint(procRoot, libraryPath string) string {
	text, _ := readSmall(filepath.Join(procRoot, "driver/nvidia/version"), 256)
	if libraryPath != "" {
		if st, err := os.Stat(libraryPath); err == nil {
			text += st.ModTime().String()
		}
	}
	return text
}
