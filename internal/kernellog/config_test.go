// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	cfg := DefaultConfig()
	require.NoError(t, cfg.Validate())
	cfg.Method = "journal"
	require.EqualError(t, cfg.Validate(), `method: "journal" is unknown; allowed are auto, kmsg, syslog`)
	cfg = Config{Method: MethodKmsg, RootPath: "host"}
	require.ErrorContains(t, cfg.Validate(), `root_path: "host" is not an absolute path`)
}
