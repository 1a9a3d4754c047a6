// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpu

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestCleanText(t *testing.T) {
	for text, want := range map[string]string{
		"train-0":                              "train-0",
		"":                                     "",
		"Größe 模型":                             "Größe 模型",
		"\x1b[31mred\x1b[0m":                   "red",
		"\x1b[2J\x1b[Hgone":                    "gone",
		"\x1b]0;title\x07name":                 "name",
		"\x1b]52;c;aGVsbG8=\x1b\\name":         "name",
		"\x1bPq data\x1b\\name":                "name",
		"\u009b31mred":                         "red",
		"\u009d0;title\u009cname":              "name",
		"\x1bcreset":                           "reset",
		"\x1b(0name":                           "name",
		"a\x1b":                                "a",
		"bell\x07 back\x08 delete\x7f":         "bell back delete",
		"two\nlines\tand tab\r":                "two lines and tab",
		"evil\u202egnp.exe":                    "evilgnp.exe",
		"zero\u200bwidth\ufeff":                "zerowidth",
		"not\xffutf8\xc3":                      "not\uFFFDutf8\uFFFD",
		"\x1b\x1b[31m[32mnested":               "[32mnested",
		"\x1b]0;never ends":                    "0;never ends",
		"<script>alert(1)</script>":            "<script>alert(1)</script>",
		"\u009b\u009b31m\x1b[\x1b[31m inside ": " inside ",
	} {
		assert.Equal(t, want, CleanText(text), "%q", text)
	}
}

// obeyed reports whether a terminal could obey a character.
func obeyed(r rune) bool {
	return r < ' ' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func FuzzCleanText(f *testing.F) {
	for _, seed := range []string{"train-0", "\x1b[31mred", "\x1b]0;t\x07", "\u009b2J", "\xff\x1b", "a\u202eb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := CleanText(text)
		assert.True(t, utf8.ValidString(clean))
		assert.False(t, strings.ContainsFunc(clean, obeyed), "%q", clean)
		assert.Equal(t, clean, CleanText(clean), "once is enough")
		assert.LessOrEqual(t, len(BoundedText(text, 10)), 10)
	})
}

func TestBoundedText(t *testing.T) {
	for text, want := range map[string]string{
		"train-0":                 "train-0",
		"longer than eleven":      "longer than",
		"ten bytes ü":             "ten bytes ", // ü would be the bytes 11 and 12
		"ten bytes \xff":          "ten bytes ", // U+FFFD, too
		"\x1b[31mlonger than all": "longer",
	} {
		assert.Equal(t, want, BoundedText(text, 11), "%q", text)
	}
}
