// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import "github.com/otelgpu/gpureceiver/internal/gpu"

const (
	maxTexts      = 1 << 16
	maxTextLength = 1024
)

// texts shares equal texts. A fleet has many: models, pods, names of programs.
type texts struct{ known map[string]*string }

func newTexts() *texts { return &texts{known: map[string]*string{}} }

// set makes a field point to a text, or to nil if the text is empty. A text that has not changed is not copied. The text to which the field
// pointed stays as it was.
func (t *texts) set(target **string, text string) {
	switch {
	case text == "":
		*target = nil
	case *target == nil || **target != text:
		*target = t.share(text)
	}
}

// share returns a copy of a text, cut to a bounded length, and the same copy for the same text.
func (t *texts) share(text string) *string {
	text = gpu.Cut(text, maxTextLength)
	if known, ok := t.known[text]; ok {
		return known
	}
	if len(t.known) == maxTexts { // the texts in use stay, unused ones go
		clear(t.known)
	}
	text = gpu.BoundedText(text, maxTextLength)
	t.known[text] = &text
	return &text
}
