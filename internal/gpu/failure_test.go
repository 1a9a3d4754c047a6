// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFailureOf(t *testing.T) {
	library := &Failure{Reason: FailureLibrary, Err: errors.New("no library")}
	for _, tt := range []struct {
		err  error
		want FailureReason
	}{
		{library, FailureLibrary},
		{fmt.Errorf("read: %w", library), FailureLibrary},
		{fmt.Errorf("read: %w", context.DeadlineExceeded), FailureTimeout},
		{fmt.Errorf("read: %w", fs.ErrPermission), FailurePermission},
		{errors.New("anything"), FailureOther},
	} {
		f := FailureOf(tt.err)
		assert.Equal(t, tt.want, f.Reason, tt.err)
		assert.Equal(t, tt.err.Error(), f.Error(), "the whole text")
		assert.ErrorIs(t, f, tt.err)
	}
}
