// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package nvidiasmi

import (
	"cmp"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/nvidiasmi/parse"
)

// remappedRows is what is known about --query-remapped-rows, from which the fast query has the remapped rows if --query-gpu does not have
// them, as in driver 535.
type remappedRows struct {
	refused bool   // the version does not have the switch
	driver  string // the version for which that holds
}

// read completes the GPUs from the output, if it was queried. driver is the version of the last listing.
func (m *remappedRows) read(r results, out *output, driver string) {
	const call = "nvidia-smi --query-remapped-rows"
	result := out.resultOf(r, forRows, call, gpu.ProblemQuantity, "remapped rows")
	if result == nil {
		return
	}
	lines, whole := result.Lines()
	d := diagnose(result)
	switch found := parse.RemappedRows(lines, rowColumns(), out.listing); {
	case found && whole:
		*m = remappedRows{}
	case found:
		out.problem(gpu.ProblemQuantity, "", "remapped rows", fmt.Errorf("%s: %w", call, errEndsEarly))
	case d.Failure == parse.FailureUsage || d.Failure == parse.FailureUnsupported:
		*m = remappedRows{refused: true, driver: cmp.Or(out.listing.DriverVersion, driver)}
	case out.hasUnreachable(): // one bad GPU makes it fail for all
	default:
		out.problem(gpu.ProblemQuantity, "", "remapped rows", fmt.Errorf("%s: %s", call, cmp.Or(d.Message, "no table in its output")))
	}
}
