// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/sha256"
	"strings"
	"time"

	"github.com/google/uuid"
)

// eventUID returns a UUID of version 7 that is the same whenever the same change of the same object is found: after a restart of the
// collector, and by another replica. A receiver that gets it twice can drop one. eventTime is a time of the API's.
func eventUID(eventTime time.Time, identity ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	var id uuid.UUID
	copy(id[6:], sum[:])
	ms := max(eventTime.UnixMilli(), 0)
	for i := range 6 {
		id[i] = byte(ms >> (8 * (5 - i)))
	}
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80
	return id.String()
}
