// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"sigs.k8s.io/yaml"

	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// variable is a value that names a variable, and no default for it.
var variable = regexp.MustCompile(`^\$\{(env:)?[A-Za-z_][A-Za-z0-9_]*\}$`)

// redacted returns the configurations for people who must not see secrets. Variables are not replaced by their values. The settings of gpu
// receivers and the pipelines stay; of everything else the keys, what is true or false, and names of variables.
func redacted(ctx context.Context, uris []string) (string, error) {
	var b strings.Builder
	for i, uri := range uris {
		raw, err := retrieve(ctx, uri)
		if err != nil {
			return "", fmt.Errorf("read configuration %d: %w", i+1, err)
		}
		text, err := yaml.Marshal(redact(nil, raw))
		if err != nil {
			return "", fmt.Errorf("write configuration %d: %w", i+1, err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		fmt.Fprintf(&b, "# configuration %d\n%s", i+1, text)
	}
	return b.String(), nil
}

// retrieve returns a configuration as it is written.
func retrieve(ctx context.Context, uri string) (any, error) {
	provider := fileprovider.NewFactory().Create(confmap.ProviderSettings{})
	whole := provider.Scheme() + ":" + uri // resolve has refused other schemes
	for _, factory := range providers() {
		if p := factory.Create(confmap.ProviderSettings{}); strings.HasPrefix(uri, p.Scheme()+":") {
			provider, whole = p, uri
		}
	}
	retrieved, err := provider.Retrieve(ctx, whole, nil)
	if err != nil {
		return nil, err
	}
	return retrieved.AsRaw()
}

// redact returns a copy of a value at a path of the configuration.
func redact(path []string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		all := make(map[string]any, len(v))
		for key, element := range v {
			all[key] = redact(append(path[:len(path):len(path)], key), element)
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, element := range v {
			all[i] = redact(path, element)
		}
		return all
	case bool, nil:
		return v
	case string:
		if open(path) {
			return withoutSecrets(v)
		}
		if variable.MatchString(v) {
			return v
		}
	default:
		if open(path) {
			return v
		}
	}
	return removed
}

// secretKey is the key of a secret. The gpu receiver has no such setting, but a configuration that it refuses may have one.
var secretKey = regexp.MustCompile(`(?i)(token|password|passwd|secret|authorization|headers?|api_?key|[-_]data|_pem)$`)

// open reports whether the values at a path are shown: the values of gpu receivers, which name files that have secrets, and not the
// secrets; and which components there are.
func open(path []string) bool {
	if len(path) < 2 || slices.ContainsFunc(path, secretKey.MatchString) {
		return false
	}
	switch path[0] {
	case "receivers":
		var id component.ID
		return id.UnmarshalText([]byte(path[1])) == nil && id.Type() == gpureceiver.NewFactory().Type()
	case "service":
		return path[1] == "pipelines" || path[1] == "extensions"
	}
	return false
}
