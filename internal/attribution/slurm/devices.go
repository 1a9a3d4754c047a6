// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// DefaultDevicesPath is the usual mount point of the hierarchy of the devices controller of version 1.
const DefaultDevicesPath = "/sys/fs/cgroup/devices"

// ErrNoDevices is the error of a machine on which no control group of version 1 shows which devices Slurm's jobs may use.
var ErrNoDevices = errors.New("no control group of version 1 shows the devices of jobs; " +
	"set ConstrainDevices=yes and CgroupPlugin=cgroup/v1 in cgroup.conf, or use attribution::slurm::mapping_dir")

// The majors of the device nodes of GPUs (Documentation/admin-guide/devices.txt of Linux).
const (
	majorNVIDIA = "195"
	majorDRM    = "226"
)

// ReadDevices reads the devices that each job may use from devices.list of its control group of version 1 below root:
// slurm[_<node>]/uid_<uid>/job_<id>. It fails if a job may use all devices, since then nothing is known of any.
func ReadDevices(root string) (Allocations, error) {
	names, err := list(root)
	if errors.Is(err, os.ErrNotExist) {
		return Allocations{}, ErrNoDevices
	}
	if err != nil {
		return Allocations{}, err
	}
	found := Allocations{Jobs: map[string][]string{}}
	slurm := false
	for _, name := range names {
		if name != "slurm" && !strings.HasPrefix(name, "slurm_") {
			continue
		}
		slurm = true
		if err := found.addUsers(filepath.Join(root, name)); err != nil {
			return Allocations{}, err
		}
	}
	if !slurm {
		return Allocations{}, ErrNoDevices
	}
	return found, nil
}

// addUsers adds the jobs of all users.
func (a *Allocations) addUsers(dir string) error {
	return each(dir, "uid_", func(_, dir string) error {
		return each(dir, "job_", func(job, dir string) error {
			content, err := readFile(filepath.Join(dir, "devices.list"))
			if errors.Is(err, os.ErrNotExist) {
				return nil // the job has ended meanwhile
			}
			if err != nil {
				return fmt.Errorf("cannot read the devices of job %s of Slurm: %w", job, err)
			}
			devices, all := parseDevices(content)
			if all {
				return fmt.Errorf("job %s of Slurm is allowed to use all devices: %w", job, ErrNoDevices)
			}
			for _, device := range devices {
				if len(a.Jobs[device]) < maxJobs {
					a.Jobs[device] = append(a.Jobs[device], job)
				}
			}
			return nil
		})
	})
}

// each calls do with each directory whose name starts with prefix and ends with a number.
func each(dir, prefix string, do func(number, dir string) error) error {
	names, err := list(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if number, ok := strings.CutPrefix(name, prefix); ok && isJobID(number) {
			if err := do(number, filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parseDevices parses lines such as "c 195:0 rwm" and returns the names of the device nodes of GPUs, each once; all if a line is for all
// devices, or for all of a GPU's major.
func parseDevices(content []byte) (nodes []string, all bool) {
	unique := map[string]bool{}
	for line := range bytes.Lines(content) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 || fields[0] == "b" {
			continue
		}
		major, minor, _ := strings.Cut(fields[1], ":")
		switch {
		case fields[0] == "a" && major == "*", major == "*" && minor == "*",
			(major == majorNVIDIA || major == majorDRM) && minor == "*":
			return nil, true
		case fields[0] != "c":
			continue
		}
		if node := nodeOf(major, minor); node != "" && !unique[node] {
			unique[node] = true
			nodes = append(nodes, node)
		}
	}
	return nodes, false
}

// nodeOf returns the name of a GPU's device node: nvidia0, card1, renderD128. It is empty for other devices; NVIDIA's devices from 254 on
// are for all GPUs.
func nodeOf(major, minor string) string {
	if !isNumber(minor) || len(minor) > 3 {
		return ""
	}
	switch {
	case major == majorNVIDIA && minor != "254" && minor != "255":
		return "nvidia" + minor
	case major == majorDRM && len(minor) == 3 && minor >= "128" && minor < "192":
		return "renderD" + minor
	case major == majorDRM && (len(minor) < 2 || (len(minor) == 2 && minor < "64")):
		return "card" + minor
	}
	return ""
}
