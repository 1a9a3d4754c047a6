// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// snapshot returns what is known now. It reports false after it has answered that nothing has changed since the request before.
func (h *Handler) snapshot(w http.ResponseWriter, r *route.Request) (*view.Snapshot, bool) {
	s := h.reader.Snapshot()
	return s, h.changed(w, r, s.Generation, uint64(s.Time.Truncate(agesHold).Unix()))
}

// agesHold is how long an answer with ages in it, such as the age of a last message, stays the same.
const agesHold = 10 * time.Second

// changed reports whether the client lacks the answer to a request. The answer depends on the generation and on other only. It reports
// false after it has answered that nothing has changed.
func (h *Handler) changed(w http.ResponseWriter, r *route.Request, generation uint64, other ...uint64) bool {
	tag := h.entityTag(r, generation, other)
	w.Header().Set("ETag", tag)
	w.Header().Set("Cache-Control", "no-cache")
	if matches(r.Header.Values("If-None-Match"), tag) {
		w.WriteHeader(http.StatusNotModified)
		return false
	}
	return true
}

// entityTag identifies an answer. It is weak: the exact time in an answer is not part of it.
func (h *Handler) entityTag(r *route.Request, generation uint64, other []uint64) string {
	var hash maphash.Hash
	hash.SetSeed(h.seed)
	for _, part := range append(other, generation) {
		var number [8]byte
		binary.LittleEndian.PutUint64(number[:], part)
		_, _ = hash.Write(number[:]) // it never fails
	}
	for _, part := range []string{r.URL.EscapedPath(), r.URL.RawQuery} {
		_, _ = hash.WriteString(part)
		_ = hash.WriteByte(0)
	}
	if wantsCSV(r) {
		_ = hash.WriteByte(1)
	}
	return fmt.Sprintf(`W/"%x-%016x"`, generation, hash.Sum64())
}

// matches reports whether If-None-Match has a tag.
func matches(header []string, tag string) bool {
	for part := range strings.SplitSeq(strings.Join(header, ","), ",") {
		if part = strings.TrimSpace(part); part == tag || part == "*" {
			return true
		}
	}
	return false
}
