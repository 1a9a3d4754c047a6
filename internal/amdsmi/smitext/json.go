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

// ErrNotJSON means that the output contains no JSON.
var ErrNotJSON = errors.New("output is not JSON")

// ErrTruncated means that the output ends in the middle of the JSON.
var ErrTruncated = errors.New("output ends in the middle")

// DecodeMembers decodes an object. member is called for each key and decodes its value.
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

// EndOfInput returns io.ErrUnexpectedEOF for io.EOF, and other errors as they are.
func EndOfInput(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// maxValues bounds the values of a document. Each takes a hundred bytes or more of memory, and two or three of the document. The longest
// document is the output of amd-smi metric: some 700 values for each of 64 partitions.
const maxValues = 1 << 18

// CheckSize returns an error if a document has too many values to be decoded.
func CheckSize(document []byte) error {
	values := 0
	for _, c := range document {
		if c == ',' || c == '{' || c == '[' {
			values++
		}
	}
	if values > maxValues {
		return fmt.Errorf("output contains too many values: about %d, but no machine has more than %d", values, maxValues)
	}
	return nil
}

// ObjectStart returns the start of the first JSON object; -1 if there is no object.
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
		return fmt.Errorf("%w: it is empty", ErrNotJSON)
	}
	return fmt.Errorf("%w: it begins with %q", ErrNotJSON, Excerpt(out))
}
