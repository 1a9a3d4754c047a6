// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/otlptest"
)

// matched is a matcher of our labels.
var matched = regexp.MustCompile(`\b((?:hw|k8s)_[a-z0-9_]+|error_type)(?:=|!=|=~|!~)"([^"]+)"`)

// A metric that is not on by default, a label or a value that nothing sends would make an alert that never fires.
func TestAlertsNameWhatIsSent(t *testing.T) {
	declared, err := otlptest.ReadDeclared(filepath.Join("..", "..", "metadata.yaml"))
	require.NoError(t, err)
	_, declaredMetrics := declared.PrometheusMetrics()
	labels := declared.PrometheusLabels()
	for _, a := range shippedAlerts(t) {
		for _, name := range ours.FindAllString(quoted.ReplaceAllString(a.Expr, `""`), -1) {
			_, isLabel := labels[name]
			assert.True(t, declaredMetrics[name] || isLabel, "%s: %s is neither a metric that is on by default nor a label", a.Alert, name)
		}
		for _, ok := range matched.FindAllStringSubmatch(a.Expr, -1) {
			for value := range strings.SplitSeq(ok[2], "|") {
				if regexp.MustCompile(`^[a-z_]+$`).MatchString(value) {
					assert.True(t, labels[ok[1]].CanBe(value), "%s: %s cannot be %s", a.Alert, ok[1], value)
				}
			}
		}
	}
}
