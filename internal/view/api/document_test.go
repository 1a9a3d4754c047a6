// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/view/compat"
	"github.com/otelgpu/gpureceiver/internal/view/route"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
)

var update = flag.Bool("update", false, "write the OpenAPI document and the golden answers")

// sampleHandler serves all routes that the exporter serves, over the sample fleet.
func sampleHandler() *Handler {
	reader := viewtest.NewReader(viewtest.Snapshot())
	return New(reader, Settings{More: compat.Routes(reader)})
}

// The document is what the routes and their types make of it: none of them is missing, and nothing else is in it.
func TestDocument(t *testing.T) {
	want, err := json.MarshalIndent(buildDocument(append(sampleHandler().routes(), compat.Routes(nil)...), comments(t, "..", "../compat")), "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *update {
		require.NoError(t, os.WriteFile("openapi.json", want, 0o600))
		return
	}
	assert.Empty(t, cmp.Diff(strings.Split(string(document), "\n"), strings.Split(string(want), "\n")),
		"go test ./internal/view/api -run TestDocument -update writes it")
	assert.Equal(t, document, get(t, "/api/v1/gpu/openapi.json").Body.Bytes())
}

// load returns the document that is served. Strict, its objects have no other fields than those in it.
func load(t *testing.T, strict bool) *openapi3.T {
	t.Helper()
	text := get(t, "/api/v1/gpu/openapi.json").Body.Bytes()
	if strict {
		text = bytes.ReplaceAll(text, []byte(`"properties": {`), []byte(`"additionalProperties": false, "properties": {`))
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	require.NoError(t, err)
	return doc
}

func TestDocumentIsValid(t *testing.T) {
	doc := load(t, false)
	require.NoError(t, doc.Validate(t.Context()))
	assert.Equal(t, "3.1.0", doc.OpenAPI)
	for path, item := range doc.Paths.Map() {
		for _, p := range item.Get.Parameters {
			assert.NotEmpty(t, p.Value.Description, "%s %s", path, p.Value.Name)
		}
	}
	for name, schema := range doc.Components.Schemas {
		assert.NotEmpty(t, schema.Value.Description, name)
	}
}

// Every field of every answer is described, fields that refer to a structure too.
func TestEveryFieldIsDescribed(t *testing.T) {
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Description string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(document, &doc))
	fields := 0
	for name, schema := range doc.Components.Schemas {
		for field, property := range schema.Properties {
			fields++
			assert.NotEmpty(t, property.Description, "%s.%s", name, field)
		}
	}
	assert.Greater(t, fields, 400)
}

// exampleOf returns a request with the examples of an operation's parameters: all of them, or those that are required.
func exampleOf(path string, operation *openapi3.Operation, all bool) string {
	values := url.Values{}
	for _, p := range operation.Parameters {
		example, ok := p.Value.Example.(string)
		switch {
		case !ok:
		case p.Value.In == "path":
			path = strings.ReplaceAll(path, "{"+p.Value.Name+"}", url.PathEscape(example))
		case all || p.Value.Required:
			values.Set(p.Value.Name, example)
		}
	}
	return path + "?" + values.Encode()
}

// Answers have the fields of the document, no others, and of its types.
func TestAnswersAreAsInTheDocument(t *testing.T) {
	doc := load(t, true)
	for path, item := range doc.Paths.Map() {
		content := item.Get.Responses.Value("200").Value.Content
		media := content[route.JSON]
		if media == nil {
			assert.Equal(t, "/api/v1/gpu/stream", path, "only the stream is no JSON")
			continue
		}
		targets := []string{exampleOf(path, item.Get, true)}
		if item.Get.Tags[0] != "compatible forms" { // which need the node of a fleet
			targets = append(targets, exampleOf(path, item.Get, false))
		}
		for _, target := range targets {
			t.Run(target, func(t *testing.T) {
				requireValid(t, doc, media.Schema.Value, ask(t, sampleHandler(), http.MethodGet, target).Body.Bytes())
			})
		}
		for mediaType, form := range content {
			if mediaType == route.JSON || mediaType == route.CSV {
				continue
			}
			t.Run(mediaType+" "+targets[0], func(t *testing.T) {
				w := ask(t, sampleHandler(), http.MethodGet, exampleOf(path, item.Get, false), "Accept", mediaType)
				assert.Equal(t, mediaType, w.Header().Get("Content-Type"))
				requireValid(t, doc, form.Schema.Value, w.Body.Bytes())
			})
		}
	}
}

func requireValid(t *testing.T, doc *openapi3.T, schema *openapi3.Schema, body []byte) {
	t.Helper()
	var answer any
	require.NoError(t, json.Unmarshal(body, &answer), string(body))
	require.NotContains(t, answer, "remedy", "a problem")
	require.NoError(t, doc.ValidateSchemaJSON(schema, answer))
}

// The validation of answers notices what is too much, missing, or of another type.
func TestAnswersThatAreNotAsInTheDocument(t *testing.T) {
	doc := load(t, true)
	schema := doc.Components.Schemas["Health"].Value
	answer := func(change func(map[string]any)) map[string]any {
		var v map[string]any
		require.NoError(t, json.Unmarshal(get(t, "/healthz").Body.Bytes(), &v))
		change(v)
		return v
	}
	require.NoError(t, doc.ValidateSchemaJSON(schema, answer(func(map[string]any) {})))
	require.Error(t, doc.ValidateSchemaJSON(schema, answer(func(v map[string]any) { v["more"] = 1 })))
	require.Error(t, doc.ValidateSchemaJSON(schema, answer(func(v map[string]any) { delete(v, "nodes") })))
	require.Error(t, doc.ValidateSchemaJSON(schema, answer(func(v map[string]any) { v["nodes"] = "6" })))
	require.Error(t, doc.ValidateSchemaJSON(schema, answer(func(v map[string]any) { v["nodes"] = nil })))
}

// Problems are as in the document, and each has a status that the document names.
func TestProblemsAreAsInTheDocument(t *testing.T) {
	doc := load(t, true)
	for target, path := range map[string]string{
		"/api/v1/gpu/nodes?colour=red": "/api/v1/gpu/nodes", "/api/v1/gpu/nodes?cluster=gone": "/api/v1/gpu/nodes",
		"/api/v1/gpu/nodes/n1": "/api/v1/gpu/nodes/{node}", "/api/v1/gpu/nodes/n9": "/api/v1/gpu/nodes/{node}",
		"/api/v1/gpu/metrics?cluster=prod&node=unread": "/api/v1/gpu/metrics",
	} {
		w := ask(t, sampleHandler(), http.MethodGet, target)
		response := doc.Paths.Value(path).Get.Responses.Status(w.Code)
		require.NotNil(t, response, "%s: %d", target, w.Code)
		var answer any
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
		require.NoError(t, doc.ValidateSchemaJSON(response.Value.Content[route.ProblemJSON].Schema.Value, answer), target)
	}
}
