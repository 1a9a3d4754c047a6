// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/api"
	"github.com/otelgpu/gpureceiver/internal/view/page"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// Handler serves the API and the page, as the exporter does.
func Handler(reader view.Reader) http.Handler {
	mux := http.NewServeMux()
	a := api.New(reader, api.Settings{})
	mux.Handle("/api/", a)
	mux.Handle("/healthz", a)
	mux.Handle("/", page.New(page.Settings{}))
	return route.Compress(mux)
}
