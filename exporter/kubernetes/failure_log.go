// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package gpukubernetesexporter // import "github.com/otelgpu/gpureceiver/exporter/kubernetes"

import (
	"go.uber.org/zap"
)

// failureLog logs a failure when it starts or has another reason, and when it is over.
type failureLog struct {
	logger  *zap.Logger
	subject string
	reason  string // of the present failure
}

// note takes the outcome of a request. remedy says what to do about an error.
func (l *failureLog) note(err error, remedy string) {
	switch {
	case err == nil && l.reason != "":
		l.reason = ""
		l.logger.Info("Posting to Kubernetes works again: " + l.subject)
	case err != nil && l.reason != err.Error():
		l.reason = err.Error()
		l.logger.Warn("Posting to Kubernetes failed: "+l.subject, zap.Error(err), zap.String("remedy", remedy))
	}
}
