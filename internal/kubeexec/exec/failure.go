// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
)

// failed returns the failure of an exec. started: the connection to the container was made. A cancelled exec has no failure.
func failed(container Container, started bool, err error) error {
	if errors.Is(err, context.Canceled) {
		return fmt.Errorf("kubernetes_exec: exec in %s: %w", container, err)
	}
	return &gpu.Failure{Reason: reasonOf(started, err), Err: fmt.Errorf("kubernetes_exec: exec in %s: %w", container, err)}
}

func reasonOf(started bool, err error) gpu.FailureReason {
	if r := refusalOf(err); r != nil {
		switch r.Code {
		case http.StatusUnauthorized:
			return gpu.FailureAPIUnauthorized
		case http.StatusForbidden:
			return gpu.FailureAPIForbidden
		case http.StatusNotFound: // the pod has gone since it was listed
			return gpu.FailureContainerMissing
		}
		return gpu.FailureAPIUnreachable
	}
	switch {
	case errors.Is(err, kube.ErrCredentials):
		return gpu.FailureAPIUnauthorized
	case errors.Is(err, context.DeadlineExceeded):
		return gpu.FailureTimeout
	case started:
		return gpu.FailureExec
	}
	return gpu.FailureAPIUnreachable
}

// execFailed returns a failure of the container rather than of the tool in it. It says nothing about the GPUs.
func execFailed(format string, args ...any) error {
	return &gpu.Failure{Reason: gpu.FailureExec, Err: fmt.Errorf(format, args...)}
}
