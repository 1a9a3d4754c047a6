// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// oddConfig has secrets in unexpected places.
const oddConfig = `
receivers:
  gpu:
    token: s3cret-1 # s3cret-2
    api_key: 53333
    scrapers:
      kubernetes_exec:
        clusters:
          - {endpoint: "https://user:s3c@ret-3@host", token_file: /run/token, auth: {password: s3cret-4, headers: [{name: x, value: s3cret-5}]}}
          - {endpoint: "${env:API:-https://user:s3cret-6@host}", client-key-data: s3cret-7}
  gpu/${env:NAME}: {endpoint: s3cret-8}
exporters:
  otlphttp:
    endpoint: ${env:ENDPOINT}
    headers: ["authorization: Bearer s3cret-9", {name: x, value: "${env:KEY:-s3cret-10}"}]
    proxy_url: http://user:s3cret-11@proxy
    password: ${file:/run/s3cret-12}
extensions:
  basicauth: {htpasswd: {inline: "user:s3cret-13\n${env:HTPASSWD}"}}
service::telemetry::resource::token: s3cret-14
service: {telemetry: {metrics: {readers: [{periodic: {exporter: {otlp: {headers: {a: s3cret-15}}}}}]}}, pipelines: {metrics: {receivers: [gpu]}}}
connectors: "s3cret-16"
`

func TestRedacted(t *testing.T) {
	text, err := redacted(t.Context(), []string{"yaml:" + oddConfig, "yaml:s3cret-17", "yaml:exporters::otlp::headers::a: s3cret-18"})
	require.NoError(t, err)
	assert.NotContains(t, text, "s3c")
	assert.NotContains(t, text, "ret-3")
	assert.NotContains(t, text, "53333")
	for _, line := range []string{"token_file: /run/token", "${env:API:-https://[removed]@host}", "endpoint: ${env:ENDPOINT}"} {
		assert.Contains(t, text, line)
	}
}
