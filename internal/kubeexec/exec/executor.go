// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Container is a container in which commands are run.
type Container struct {
	Namespace, Pod, Name string

	ID      string // of the running instance; after a restart, the container under the same name has another one
	HostPID bool   // it shares the machine's PID namespace
}

// String names the container in messages.
func (c Container) String() string {
	return fmt.Sprintf("container %s of pod %s/%s", c.Name, c.Namespace, c.Pod)
}

// Executor runs commands in containers.
type Executor interface {
	// Exec runs argv, fills out and returns the exit code. The error is a *StartError if the container's runtime could not
	// start the command. Any other error means that the container could not be reached, or that the context ended before the
	// command; a command that still runs then is left behind.
	Exec(ctx context.Context, container Container, argv []string, out *Output) (exitCode int, err error)
}

// missing reports whether a container lacks a program, by the messages of runc, crun and the container runtimes around them.
func missing(err error) bool {
	var start *StartError
	if !errors.As(err, &start) {
		return false
	}
	for _, words := range []string{"executable file not found", "no such file or directory", "not found in $PATH"} {
		if strings.Contains(start.Message, words) {
			return true
		}
	}
	return false
}
