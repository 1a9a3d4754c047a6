// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	_ "embed" // the document
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// document is the OpenAPI document. go test ./internal/view/api -run TestDocument -update writes it from the routes and their types.
//
//go:embed openapi.json
var document []byte

func (h *Handler) documentRoutes() []route.Route {
	return []route.Route{{
		Path: "/api/v1/gpu/openapi.json", ID: "getDocument", Tag: "API", Summary: "This document",
		Description: "The description of the API in the form of OpenAPI 3.1.",
		Serve: func(w http.ResponseWriter, _ *route.Request) error {
			w.Header().Set("Content-Type", route.JSON)
			w.Header().Set("Cache-Control", "no-cache")
			_, _ = w.Write(document) // the client may be gone
			return nil
		},
	}}
}
