// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// object is a JSON object.
type object = map[string]any

// buildDocument returns the OpenAPI document of routes.
func buildDocument(routes []route.Route, comments map[string]string) object {
	s := schemas{comments: comments, all: object{}}
	problem := s.schemaOf(view.Problem{})
	paths := object{}
	for i := range routes {
		r := &routes[i]
		if r.Form == "" {
			paths[r.Path] = object{"get": operation(&s, r, formsOf(routes, r))}
		}
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "gpu_view", "version": "1",
			"description": "The GPUs that the pipelines of an OpenTelemetry Collector bring. Units are those of OTLP: bytes, watts, joules, hertz, seconds, " +
				"degrees Celsius, and shares from 0 to 1. What was not read is null, never 0. Times are in RFC 3339. All requests are GET or HEAD.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []object{{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas": s.all,
			"responses": object{"Problem": object{
				"description": "A problem (RFC 9457): what happened, which, and what to do.",
				"content":     object{route.ProblemJSON: object{"schema": problem}},
			}},
		},
	}
}

// formsOf returns the other forms of a route.
func formsOf(routes []route.Route, parent *route.Route) []route.Route {
	var forms []route.Route
	for _, r := range routes {
		if r.Path == parent.Path && r.Form != "" {
			forms = append(forms, r)
		}
	}
	return forms
}

// operation describes a route and its other forms, which OpenAPI takes for one.
func operation(s *schemas, r *route.Route, forms []route.Route) object {
	content := object{}
	mediaType := cmp.Or(r.MediaType, route.JSON)
	switch {
	case r.Answer != nil:
		content[mediaType] = object{"schema": s.schemaOf(r.Answer)}
	case mediaType == route.JSON:
		content[mediaType] = object{"schema": object{"type": "object"}}
	default:
		content[mediaType] = object{"schema": object{"type": "string"}}
	}
	if r.CSV {
		content[route.CSV] = object{"schema": object{"type": "string"}}
	}
	parameters := []object{}
	for i := range r.Parameters {
		parameters = append(parameters, parameter(&r.Parameters[i], "")...)
	}
	description := []string{r.Description}
	if len(forms) > 0 {
		names, either := []string{route.OwnForm}, []any{content[route.JSON].(object)["schema"]}
		for i := range forms {
			form := &forms[i]
			names = append(names, form.Form)
			either = append(either, s.schemaOf(form.Answer))
			content[form.FormType] = object{"schema": s.schemaOf(form.Answer)}
			for i := range form.Parameters {
				parameters = append(parameters, parameter(&form.Parameters[i], "Only in form "+form.Form+". ")...)
			}
			description = append(description, "In form "+form.Form+": "+form.Summary+".", form.Description)
		}
		content[route.JSON] = object{"schema": object{"anyOf": either}}
		parameters = append(parameters, object{
			"name": "form", "in": "query", "schema": object{"type": "string", "enum": names},
			"description": "The form of the answer. Accept selects it too, by application/vnd.gpu.FORM+json. The default is own, unless the setting default_form of gpu_view names another.",
		})
	}
	parameters = firstOfEachName(parameters)
	operation := object{
		"operationId": r.ID, "summary": r.Summary, "tags": []string{r.Tag}, "responses": responses(r, content),
	}
	if text := strings.TrimSpace(strings.Join(description, " ")); text != "" {
		operation["description"] = text
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return operation
}

func responses(r *route.Route, content object) object {
	ok := object{"description": "The answer.", "content": content}
	headers := object{}
	if r.EntityTag {
		headers["ETag"] = object{"description": "For If-None-Match.", "schema": object{"type": "string"}}
	}
	if r.CSV {
		headers["Link"] = object{"description": "The next page, where there is one.", "schema": object{"type": "string"}}
		headers["X-Total-Count"] = object{"description": "Entries on all pages.", "schema": object{"type": "integer"}}
	}
	if len(headers) > 0 {
		ok["headers"] = headers
	}
	all := object{"200": ok}
	if r.EntityTag {
		all["304"] = object{"description": "Nothing has changed since the answer with the entity tag in If-None-Match."}
	}
	for _, status := range append([]int{http.StatusBadRequest, http.StatusMethodNotAllowed}, r.Problems...) {
		all[strconv.Itoa(status)] = object{"$ref": "#/components/responses/Problem"}
	}
	return all
}

// parameter describes a parameter, and its alias as one of its own.
func parameter(p *route.Parameter, prefix string) []object {
	one := object{"name": p.Name, "in": "query", "description": prefix + p.Description, "schema": parameterSchema(p)}
	if p.Path {
		one["in"] = "path"
	}
	if p.Required {
		one["required"] = true
	}
	if p.Example != "" {
		one["example"] = p.Example
	}
	all := []object{one}
	if p.Alias != "" {
		all = append(all, object{
			"name": p.Alias, "in": "query", "description": prefix + "Another name of " + p.Name + ": give one of them.", "schema": parameterSchema(p),
		})
	}
	return all
}

func parameterSchema(p *route.Parameter) object {
	schema := object{"type": "string"}
	switch p.Kind {
	case route.Choice:
		schema["enum"] = p.Choices
	case route.Integer:
		schema["type"], schema["minimum"], schema["maximum"] = "integer", p.Min, p.Max
	case route.Text, route.Moment:
		schema["minLength"] = 1
	}
	switch {
	case p.Default == "":
	case p.Kind == route.Integer:
		var n uint64
		_, _ = fmt.Sscan(p.Default, &n)
		schema["default"] = n
	default:
		schema["default"] = p.Default
	}
	return schema
}

// firstOfEachName leaves out parameters that a form shares with the others.
func firstOfEachName(parameters []object) []object {
	var names []string
	return slices.DeleteFunc(parameters, func(p object) bool {
		name := fmt.Sprint(p["in"], " ", p["name"])
		if slices.Contains(names, name) {
			return true
		}
		names = append(names, name)
		return false
	})
}
