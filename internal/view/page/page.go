// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Package page serves the page of the gpu_view exporter: its built files, which are embedded, under a strict content security policy.
//
// The sources are in src, in TypeScript with Preact. scripts/build-page.sh makes dist from them, which is committed, so that go build needs
// no npm. The page asks the API (internal/view/api) below its own address, with relative paths, so that it works behind a prefix.
package page // import "github.com/otelgpu/gpureceiver/internal/view/page"

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html"
	"net/http"
	"path"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view/route"
)

//go:embed dist/index.html dist/app.js dist/app.css
var dist embed.FS

// policy lets the page load its own files and ask its own host, and nothing else: no inline script, no other host, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// files are the built files by the path at which they are served. The page itself decides by the path what it shows.
var files = map[string]string{"/": "index.html", "/docs": "index.html", "/app.js": "app.js", "/app.css": "app.css"}

var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

type file struct {
	name string
	body []byte
	etag string
}

// Settings are what the page's document has from the configuration.
type Settings struct {
	Notice     string // a text that the page shows above everything
	GrafanaURL string // template of a link to a dashboard; config.go of the exporter checks it
}

// settingTag is the element of the page's document that has a setting.
const settingTag = `<meta name="%s" content="%s">`

// New returns the handler of the page: / and /docs, and the files that they load. Other paths, and other methods than GET and HEAD, are
// answered by a problem.
func New(settings Settings) http.Handler {
	served := map[string]file{}
	for address, name := range files {
		body, err := dist.ReadFile("dist/" + name)
		if err != nil {
			panic(err) // embedded: the compiler has checked that it is there
		}
		if name == "index.html" {
			for name, value := range map[string]string{"notice": settings.Notice, "grafana": settings.GrafanaURL} {
				body = bytes.Replace(body, fmt.Appendf(nil, settingTag, name, ""), fmt.Appendf(nil, settingTag, name, html.EscapeString(value)), 1)
			}
		}
		hash := sha256.Sum256(body)
		served[address] = file{name: name, body: body, etag: `W/"` + hex.EncodeToString(hash[:16]) + `"`}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		f, found := served[r.URL.Path]
		switch {
		case !found:
			route.WriteProblem(w, r, route.Problem(http.StatusNotFound, "Unknown path", r.URL.EscapedPath(), "Open / for the page, or /docs for the description of the API."))
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			header.Set("Allow", "GET, HEAD")
			route.WriteProblem(w, r, route.Problem(http.StatusMethodNotAllowed, "Method not allowed", r.Method, "Use GET or HEAD: nothing can be changed here."))
		default:
			header.Set("Content-Type", mediaTypes[path.Ext(f.name)])
			// The tag is weak, so that it is the same for the compressed file. The files have the same names in every version: a browser asks each time whether they are still the same.
			header.Set("Cache-Control", "no-cache")
			header.Set("ETag", f.etag)
			http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.body))
		}
	})
}
