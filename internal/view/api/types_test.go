// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view"
)

// typesFile contains the types of the page. They are those of the document, without the forms for other clients.
const typesFile = "../page/src/core/types.ts"

func TestTypesOfThePage(t *testing.T) {
	s := schemas{all: object{}}
	s.of(view.Problem{})
	for _, r := range sampleHandler().routes() {
		if r.Form == "" && r.Answer != nil {
			s.of(r.Answer)
		}
	}
	var b strings.Builder
	b.WriteString("// Copyright The gpureceiver Authors\n// SPDX-License-Identifier: Apache-2.0\n\n" +
		"// Code generated from the types of the API; DO NOT EDIT. Units are bytes, watts, joules, hertz, seconds, degrees Celsius, shares from 0 to 1.\n")
	for _, name := range slices.Sorted(maps.Keys(s.all)) {
		writeInterface(&b, name, s.all[name].(object))
	}
	if *update {
		require.NoError(t, os.WriteFile(typesFile, []byte(b.String()), 0o600))
		return
	}
	written, err := os.ReadFile(typesFile)
	require.NoError(t, err)
	assert.Equal(t, b.String(), string(written), "go test ./internal/view/api -run TestTypesOfThePage -update writes it")
}

func writeInterface(b *strings.Builder, name string, schema object) {
	fmt.Fprintf(b, "\nexport interface %s {\n", name)
	properties, required := schema["properties"].(object), schema["required"].([]string)
	for _, property := range slices.Sorted(maps.Keys(properties)) {
		written := property + ": " + typeScript(properties[property].(object))
		if !slices.Contains(required, property) { // left out instead of null
			written = strings.TrimSuffix(strings.Replace(written, ":", "?:", 1), " | null")
		}
		fmt.Fprintf(b, "  %s;\n", written)
	}
	b.WriteString("}\n")
}

// typeScript returns the TypeScript type of a schema.
func typeScript(schema object) string {
	if reference, ok := schema["$ref"].(string); ok {
		return reference[strings.LastIndex(reference, "/")+1:]
	}
	switch kind := schema["type"].(type) {
	case []string:
		return typeScript(object{"type": kind[0]}) + " | null"
	case string:
		switch kind {
		case "array":
			item := typeScript(schema["items"].(object))
			if strings.Contains(item, " ") {
				item = "(" + item + ")"
			}
			return item + "[]"
		case "object":
			return "Record<string, " + typeScript(schema["additionalProperties"].(object)) + ">"
		case "integer":
			return "number"
		default:
			return kind
		}
	default:
		return "unknown"
	}
}
