// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package amdgpu

import (
	"errors"
	"fmt"
	"syscall"
)

// starved tells whether an error says that this process may open no further file, which is no fault of any GPU: half of what
// there is would be missing, and GPUs would seem to be lost.
func starved(err error) error {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return nil
	}
	return fmt.Errorf("amdgpu: %w; raise the limit of open files (LimitNOFILE= of a systemd unit, ulimit -n), or find out what holds"+
		" so many", err)
}

func (s *scanner) note(err error) {
	if err := starved(err); err != nil {
		s.starved = err
	}
}

func (b *board) note(err error) {
	if err := starved(err); err != nil {
		b.out.starved = err
		b.reads = -1 // the files are listed again, too
	}
}

// starved tells why what was read is not to be believed.
func (s *Source) starved(round uint64) error {
	for _, b := range s.boards {
		if b.task.ended(round) && b.out.starved != nil {
			return b.out.starved
		}
	}
	return nil
}
