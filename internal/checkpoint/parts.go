// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.uber.org/zap"
)

const (
	// maxPart bounds a part, and maxParts and maxPartsBytes all of them. What is beyond them is not stored.
	maxPart       = 256 << 10
	maxParts      = 32 << 10
	maxPartsBytes = 64 << 20
)

// Part is one of many parts of what is known of a source. It is written only when it changes.
type Part struct {
	Name string
	// Value is what is stored, as JSON. Nil: the part is removed.
	Value any
}

// parts are the parts that are stored.
type parts struct {
	listable bool           // the storage can list its keys: otherwise the parts could not be found again
	sizes    map[string]int // in bytes, by key, of what is stored or pending
	bytes    int            // of all
	full     bool           // some are not stored, which was logged
	// unwritten are those that are pending and were never written, by key. When they end, nothing is to be removed: a storage that fails for long would
	// have the removals add up.
	unwritten map[string]struct{}
	// restored are the parts that an earlier process has left and that no source has taken yet, by source and name.
	restored map[string]map[string][]byte
}

// fits reports whether there is room for a part.
func (p *parts) fits(key string, size int) bool {
	last, stored := p.sizes[key]
	return size <= maxPart && (stored || len(p.sizes) < maxParts) && p.bytes-last+size <= maxPartsBytes
}

// note notes the size of a part; 0: it is removed.
func (p *parts) note(key string, size int) {
	p.bytes += size - p.sizes[key]
	if size == 0 {
		delete(p.sizes, key)
		return
	}
	if p.sizes == nil {
		p.sizes = map[string]int{}
	}
	p.sizes[key] = size
}

func partKey(source, name string) string { return partPrefix + source + "/" + name }

// encodedPart is what is to be stored of a part. Nil: nothing.
type encodedPart struct {
	key  string
	data []byte
}

// encodeParts returns what is to be stored. What cannot be encoded is nothing, too, and the error is the first one of these.
func encodeParts(source string, changed []Part) (encoded []encodedPart, first error) {
	for _, part := range changed {
		e := encodedPart{key: partKey(source, part.Name)}
		if part.Value != nil {
			data, err := json.Marshal(part.Value)
			if err == nil {
				e.data = data
			} else if first == nil {
				first = fmt.Errorf("write %s: %w", e.key, err)
			}
		}
		encoded = append(encoded, e)
	}
	return encoded, first
}

// putPart writes a part. It removes the part if it has ended or if there is no room for it: an old one would be false.
func (s *Store) putPart(key string, data []byte) {
	p := &s.parts
	if !p.listable {
		return
	}
	if data != nil && !p.fits(key, len(data)) {
		data = nil
		if !p.full {
			p.full = true
			s.logger.Warn("Some pods or workloads are not stored", zap.String("reason", "there are too many, or they are too large"),
				zap.String("effect", "after a restart, the receiver reports them as new"), zap.String("key", key),
				zap.Int("max_entries", maxParts), zap.Int("max_bytes", maxPartsBytes), zap.Int("max_bytes_each", maxPart))
		}
	}
	_, stored := p.sizes[key]
	_, removing := s.pending[key]
	p.note(key, len(data))
	if _, unwritten := p.unwritten[key]; unwritten && data == nil {
		delete(p.unwritten, key)
		delete(s.pending, key)
		return
	}
	if !stored && !removing {
		if data == nil {
			return
		}
		if p.unwritten == nil {
			p.unwritten = map[string]struct{}{}
		}
		p.unwritten[key] = struct{}{}
	}
	s.pending[key] = data
}

// findPart takes a part that an earlier process has left. The value is copied.
func (s *Store) findPart(key string, value []byte) {
	p := &s.parts
	source, name, ok := strings.Cut(strings.TrimPrefix(key, partPrefix), "/")
	if !ok || !p.fits(key, len(value)) {
		s.pending[key] = nil
		return
	}
	p.note(key, len(value))
	if p.restored == nil {
		p.restored = map[string]map[string][]byte{}
	}
	if p.restored[source] == nil {
		p.restored[source] = map[string][]byte{}
	}
	p.restored[source][name] = bytes.Clone(value)
}

// discardParts has the parts removed that an earlier process has left.
func (s *Store) discardParts(source string) {
	for name := range s.parts.restored[source] {
		s.putPart(partKey(source, name), nil)
	}
	delete(s.parts.restored, source)
}

// Parts calls use, once, with each stored part of a source whose state was loaded. A part for which use returns an error is logged and
// discarded.
func (s *Store) Parts(source string, use func(name string, data []byte) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused, first := 0, error(nil)
	for name, data := range s.parts.restored[source] {
		if err := use(name, data); err != nil {
			s.putPart(partKey(source, name), nil)
			if refused++; first == nil {
				first = fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	delete(s.parts.restored, source)
	if refused > 0 {
		s.logger.Warn("Stored entries are not used", zap.String("key", statePrefix+source), zap.Int("entries", refused), zap.Error(first),
			zap.String("effect", "the receiver reports them as new"))
	}
}
