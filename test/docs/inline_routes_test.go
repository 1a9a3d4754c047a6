// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// apiRoot is the prefix of the routes of the API. The pages abbreviate it as ….
const apiRoot = "/api/v1/gpu"

// routeClasses look in the OpenAPI document, which is made from the routes.
func routeClasses(t *testing.T) []class {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(repository(t), "internal", "view", "api", "openapi.json"))
	require.NoError(t, err)
	var document struct {
		Paths map[string]any `json:"paths"`
	}
	require.NoError(t, json.Unmarshal(content, &document))
	require.NotEmpty(t, document.Paths)
	return []class{{
		name: "route",
		is:   func(s span) bool { return route.MatchString(s.text) },
		check: func(s span) error {
			requests := strings.Replace(route.FindStringSubmatch(s.text)[1], "…", apiRoot, 1)
			for path := range document.Paths {
				if regexp.MustCompile(`^` + parameter.ReplaceAllString(path, `[^/]+`) + `$`).MatchString(requests) {
					return nil
				}
			}
			return errNotDeclared
		},
		good: "GET /api/v1/gpu/nodes/{node}", bad: "/api/v1/gpu/node",
	}}
}

var (
	route     = regexp.MustCompile(`^(?:GET |HEAD )?((?:/api/v1/gpu|…)/[a-z][^?\s]*)(?:\?.*)?$`)
	parameter = regexp.MustCompile(`\{[^}]+}`)
)
