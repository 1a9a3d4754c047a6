// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// What is read at most.
const (
	maxFiles   = 4096     // in a directory
	maxFile    = 64 << 10 // bytes of a file
	maxJobs    = 1024     // that hold one device
	maxDetail  = 256      // bytes of a user, an account or a partition
	maxJobName = 20       // digits
)

// errFormat is the error of a file that holds something else than job IDs.
var errFormat = errors.New("it must contain a job ID on each line")

// ReadMapping reads a mapping directory in the form that dcgm-exporter reads too (--hpc-job-mapping-dir): for each GPU that jobs hold, a
// file whose name is the number of the GPU, with a job ID on each line. A file may also have the ID of a GPU or a MIG instance as its name,
// and job.<id> may have lines user=, account= and partition=; dcgm-exporter looks at neither. Other files are ignored.
//
// An error goes with what could be read: the devices of files that could not be read are in Unknown. Without Jobs nothing was read.
func ReadMapping(dir string) (Allocations, error) {
	names, err := list(dir)
	if err != nil {
		return Allocations{}, fmt.Errorf("cannot read the mapping directory of Slurm's jobs: %w", err)
	}
	found := Allocations{Jobs: map[string][]string{}, Details: map[string]Job{}}
	var errs []error
	for _, name := range names {
		id, isJob := strings.CutPrefix(name, "job.")
		if !isDeviceName(name) && (!isJob || !isJobID(id)) {
			continue
		}
		content, err := readFile(filepath.Join(dir, name))
		switch {
		case errors.Is(err, os.ErrNotExist): // the epilog removed it meanwhile
			continue
		case isJob:
			if err == nil {
				found.Details[id] = parseDetails(id, content)
			}
			continue
		}
		var jobs []string
		if err == nil {
			jobs, err = parseJobs(content)
		}
		if err != nil {
			found.Unknown = append(found.Unknown, name)
			errs = append(errs, fmt.Errorf("cannot read which jobs hold GPU %s from %s: %w", name, filepath.Join(dir, name), err))
			continue
		}
		if len(jobs) > 0 {
			found.Jobs[name] = jobs
		}
	}
	return found, errors.Join(errs...)
}

// list returns the names in a directory, in no order. It fails if there are too many.
func list(dir string) ([]string, error) {
	directory, err := os.Open(dir) //nolint:gosec // configured
	if err != nil {
		return nil, err
	}
	defer func() { _ = directory.Close() }()
	names, err := directory.Readdirnames(maxFiles + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%s contains more than %d files", dir, maxFiles)
	}
	return names, nil
}

// readFile reads a regular file of a bounded size.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	file, err := os.Open(path) //nolint:gosec // in a configured directory
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(content) > maxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return content, nil
}

// parseJobs parses a job ID on each line. A job that is named twice holds the device once.
func parseJobs(content []byte) ([]string, error) {
	var jobs []string
	unique := map[string]bool{}
	for line := range bytes.Lines(content) {
		id := string(bytes.TrimSpace(line))
		switch {
		case id == "" || unique[id]:
			continue
		case !isJobID(id), len(jobs) == maxJobs:
			return nil, errFormat
		}
		unique[id] = true
		jobs = append(jobs, id)
	}
	return jobs, nil
}

// parseDetails parses lines of key=value. An unknown key is ignored, and so is a value that is too long or has control characters.
func parseDetails(id string, content []byte) Job {
	job := Job{ID: id}
	for line := range bytes.Lines(content) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), "=")
		if len(value) > maxDetail || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }) {
			continue
		}
		switch key {
		case "user":
			job.User = value
		case "account":
			job.Account = value
		case "partition":
			job.Partition = value
		}
	}
	return job
}

// isDeviceName reports whether the name of a file is the name of a device.
func isDeviceName(name string) bool {
	return isNumber(name) && len(name) <= 4 || strings.HasPrefix(name, "GPU-") || strings.HasPrefix(name, "MIG-")
}

func isJobID(s string) bool { return isNumber(s) && len(s) <= maxJobName }

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
