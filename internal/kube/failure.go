// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/otelgpu/gpureceiver/internal/gpu"
)

// ReasonOf classifies the error of a request to an API server.
func ReasonOf(err error) gpu.FailureReason {
	switch {
	case apierrors.IsForbidden(err):
		return gpu.FailureAPIForbidden
	case apierrors.IsUnauthorized(err), errors.Is(err, ErrCredentials):
		return gpu.FailureAPIUnauthorized
	}
	return gpu.FailureAPIUnreachable
}
