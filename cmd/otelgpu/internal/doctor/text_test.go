// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestText(t *testing.T) {
	r := Report{Sections: []Section{{Name: "a", Checks: []Check{{Failed, "long subject", "first:\n\n second\x1b[2J\n", ""}, {OK, "b", "c", ""}}}}}
	r.close()
	assert.Equal(t, "a\n  failed  long subject  first:\n                         second\n  ok      b             c\n\n1 check failed.\n", r.Text())
}
