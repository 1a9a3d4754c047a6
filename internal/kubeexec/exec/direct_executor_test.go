// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"fmt"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec/exectest"
)

// direct is an Executor without a network. It runs boxes by pod name.
type direct struct{ boxes map[string]exectest.Box }

func (d *direct) Exec(ctx context.Context, container Container, argv []string, out *Output) (int, error) {
	b := d.boxes[container.Pod]
	if b == nil {
		return 0, fmt.Errorf("no pod %s", container.Pod)
	}
	out.Begin()
	code, err := b(argv, out.Stdout(), out.Stderr(), ctx.Done())
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		err = fmt.Errorf("exec in %s: %w", container, err)
	}
	return code, err
}
