// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
)

// StartError is why a container's runtime did not start a command.
type StartError struct{ Message string }

// Error implements error.
func (s *StartError) Error() string { return "the command could not be run: " + excerpt(s.Message) }

// exitCode reads the server's status of a command that has ended.
func exitCode(data []byte) (int, error) {
	if len(data) == 0 {
		return 0, errors.New("the connection ended before the command did")
	}
	var status metav1.Status
	if err := json.Unmarshal(data, &status); err != nil {
		return 0, fmt.Errorf("read the status %q: %w", excerpt(string(data)), err)
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return 0, nil
	case status.Reason != remotecommand.NonZeroExitCodeReason || status.Details == nil:
		return 0, &StartError{Message: status.Message}
	}
	for _, cause := range status.Details.Causes {
		if cause.Type != remotecommand.ExitCodeCauseType {
			continue
		}
		if code, err := strconv.ParseUint(cause.Message, 10, 8); err == nil {
			return int(code), nil
		}
	}
	return 0, fmt.Errorf("no exit code in the status %q", excerpt(string(data)))
}
