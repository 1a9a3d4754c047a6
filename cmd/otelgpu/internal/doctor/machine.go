// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// maxFact bounds what is read of one file, in bytes.
const maxFact = 4096

// machine has the facts on which the sources depend. None of them is a reading of a GPU.
func machine() Section {
	s := Section{Name: "machine"}
	s.add(Note, "system", runtime.GOOS+"/"+runtime.GOARCH)
	s.addKernel()
	s.addUser()
	for _, driver := range []struct{ name, file, loaded string }{
		{"nvidia driver", "/proc/driver/nvidia/version", "/sys/module/nvidia"},
		{"amdgpu driver", "/sys/module/amdgpu/version", "/sys/module/amdgpu"},
	} {
		s.addDriver(driver.name, driver.file, driver.loaded)
	}
	s.addDeviceNodes()
	for _, tool := range []command.Tool{command.NvidiaSMI, command.ROCmSMI, command.AMDSMI} {
		if path, err := command.Find(tool); err == nil {
			s.add(Note, string(tool), path)
		} else {
			s.add(Note, string(tool), withoutPlaces(err))
		}
	}
	return s
}

// withoutPlaces shortens an error if a tool is simply missing: a scraper that needs it names the places.
func withoutPlaces(err error) string {
	if errors.Is(err, command.ErrNotFound) {
		return "not in the usual places"
	}
	return err.Error()
}

// addDriver says whether a kernel driver is loaded, and its version. The amdgpu driver of the kernel itself has no version.
func (s *Section) addDriver(name, file, loaded string) {
	text, err := readFact(file)
	switch {
	case err == nil:
		first, _, _ := strings.Cut(text, "\n")
		s.add(Note, name, strings.Join(strings.Fields(first), " "))
	case exists(loaded):
		s.add(Note, name, "loaded, without a version")
	default:
		s.add(Note, name, "not loaded")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func readFact(path string) (string, error) {
	file, err := os.Open(path) //nolint:gosec // a constant
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, maxFact))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return string(data), nil
}
