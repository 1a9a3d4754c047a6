// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/otelgpu/gpureceiver/internal/command"
)

// Where the tool did not end, or is not there, nothing was read, whether GPUs are known or not. What it says for itself is an
// answer, also that there is no driver.
func TestNothingWasRead(t *testing.T) {
	for name, c := range map[string]struct {
		answer
		unread bool
	}{
		"hangs":         {answer{err: fmt.Errorf("nvidia-smi: %w: killed", command.ErrTimeout)}, true},
		"still hanging": {answer{err: fmt.Errorf("nvidia-smi: %w since noon", command.ErrBusy)}, true},
		"not there":     {answer{err: fmt.Errorf("%w: no nvidia-smi in /usr/bin", command.ErrNotFound)}, true},
		"no devices":    {answer{stdout: "No devices were found\n", exit: 6}, false},
	} {
		t.Run(name, func(t *testing.T) {
			fresh := newReader(t, QueryFull, &tool{xml: c.answer}, newClock())
			f := h100Tool(t)
			known := newReader(t, QueryFull, f, newClock())
			assert.False(t, read(t, known).Unread)
			healthy := f.xml
			f.xml = c.answer
			for range 2 {
				assert.Equal(t, c.unread, read(t, fresh).Unread)
				assert.Equal(t, c.unread, read(t, known).Unread)
			}
			f.xml = healthy
			known.lasting = nil
			assert.False(t, read(t, known).Unread)
		})
	}
}
