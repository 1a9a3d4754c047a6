// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/otelgpu/gpureceiver/internal/workers"
)

// driverHint reads what the machine shows of the driver without NVML. When that changes, there is reason to try again.
type driverHint struct {
	procRoot    string
	libraryPath string
	patience    time.Duration // how long a file is waited for

	pool workers.Pool
	task *workers.Task
	text string // belongs to the task
	last string
}

// hintPatience is much longer than a read takes of files that answer.
const hintPatience = time.Second

func newDriverHint(procRoot, libraryPath string, patience time.Duration) *driverHint {
	h := &driverHint{procRoot: procRoot, libraryPath: libraryPath, patience: cmp.Or(patience, hintPatience)}
	h.task = h.pool.NewTask(nil)
	return h
}

// read returns the version of the kernel module and the age of the configured library; while a file does not answer, what it last returned.
// It waits for no more than an eighth of the time of a read.
func (h *driverHint) read(ctx context.Context) string {
	patience := h.patience
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline)/8)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	h.pool.Run(ctx, workers.Job{Task: h.task, Func: func() { h.text = h.now() }})
	if h.task.Outcome() == workers.Done {
		h.last = h.text
	}
	return h.last
}

func (h *driverHint) now() string {
	text, _ := readFile(filepath.Join(h.procRoot, "driver/nvidia/version"), 256)
	if h.libraryPath != "" {
		if st, err := os.Stat(h.libraryPath); err == nil {
			text += st.ModTime().String()
		}
	}
	return text
}
