// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/otelgpu/gpureceiver/internal/xid"
)

// GPUXID leaves out only codes that need no reset and no repair, and its runbook names the same codes.
func TestXIDCodesWithoutAlert(t *testing.T) {
	alerts := shippedAlerts(t)
	rule := alerts[slices.IndexFunc(alerts, func(a alert) bool { return a.Alert == "GPUXID" })]
	lists := regexp.MustCompile(`hw_gpu_xid!~"([0-9|]+)"`).FindAllStringSubmatch(rule.Expr, -1)
	require.Len(t, lists, 2, "the two halves of the rule")
	assert.Equal(t, lists[0][1], lists[1][1])
	codes := strings.Split(lists[0][1], "|")
	for _, code := range codes {
		number, err := strconv.ParseInt(code, 10, 64)
		require.NoError(t, err)
		entry, known := xid.Lookup(number)
		assert.True(t, known, code)
		assert.Contains(t, []xid.Severity{xid.SeverityInfo, xid.SeverityWarning}, entry.Severity, code)
		assert.NotContains(t, entry.Action.Name, "reset", code)
	}

	runbook, err := os.ReadFile(filepath.Join("..", "..", "docs", "operate", "alerts.md"))
	require.NoError(t, err)
	last := len(codes) - 1
	assert.Contains(t, string(runbook), "raise no alert: "+strings.Join(codes[:last], ", ")+" and "+codes[last]+".")
}
