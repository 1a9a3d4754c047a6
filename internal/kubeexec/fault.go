// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

// fault is a panic of this program over the output of a node. That output may be anything. As an error of the one node it does
// not affect the others, while a crash would affect all of them, at every interval.
type fault struct {
	node      string
	container exec.Container
	cause     any
	stack     string
}

// maxWhere bounds the part of the stack in the message.
const maxWhere = 1024

// newFault returns the fault for a recovered panic. It is called by the deferred function that recovers.
func newFault(cause any, node string, containerRef exec.Container) *fault {
	stack := string(debug.Stack())
	if _, after, found := strings.Cut(stack, "\npanic("); found {
		stack = after
	}
	return &fault{node: node, container: containerRef, cause: cause, stack: stack[:min(len(stack), maxWhere)]}
}

// Error implements error.
func (f *fault) Error() string {
	return fmt.Sprintf("kubernetes_exec: read node %s in %s: a bug in gpureceiver, please report it: %v: %s",
		f.node, f.container, f.cause, f.stack)
}
