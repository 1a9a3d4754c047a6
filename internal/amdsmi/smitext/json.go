// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package smitext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errNotJSON: there is no JSON in the output.
var ErrNotJSON = errors.New("output is not JSON")

// errTruncated: the output ends in the middle.
var ErrTruncated = errors.New("output ends in the middle")

// DecodeMembers decodes an object, calling member for each key to decode its value.
func DecodeMembers(decoder *json.Decoder, member func(key string) error) error {
	if err := Expect(decoder, '{'); err != nil {
		return err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return EndOfInput(err)
		}
		key, ok := token.(string)
		if !ok {
			return fmt.Errorf("unexpected %v", token)
		}
		if err = member(key); err != nil {
			return EndOfInput(err)
		}
	}
	return Expect(decoder, '}')
}

// Expect reads a delimiter.
func Expect(decoder *json.Decoder, delim json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return EndOfInput(err)
	}
	if token != delim {
		return fmt.Errorf("unexpected %v", token)
	}
	return nil
}

// EndOfInput words the end of the input as what it is here.
func EndOfInput(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// maxValues bounds the values of a document, of which each takes a hundred bytes and more, while it has two or three in the
// document. A machine of 64 partitions and hundreds of processes has some hundred thousand.
const maxValues = 1 << 19

// CheckSize tells whether a document may be decoded.
func CheckSize(document []byte) error {
	values := 0
	for _, c := range document {
		if c == ',' || c == '{' || c == '[' {
			values++
		}
	}
	if values > maxValues {
		return fmt.Errorf("output has too many values: some %d, where no machine has more than %d", values, maxValues)
	}
	return nil
}

// ObjectStart returns where the first JSON object begins; -1 if there is none.
func ObjectStart(out []byte) int {
	for i := range out {
		if out[i] != '{' {
			continue
		}
		if next := bytes.TrimLeft(out[i+1:], " \t\r\n"); len(next) > 0 && (next[0] == '"' || next[0] == '}') {
			return i
		}
	}
	return -1
}

// NotJSON returns ErrNotJSON with the beginning of the output.
func NotJSON(out []byte) error {
	if len(bytes.TrimSpace(out)) == 0 {
		return fmt.Errorf("%w: there is none", ErrNotJSON)
	}
	return fmt.Errorf("%w: it begins with %q", ErrNotJSON, Excerpt(out))
}
