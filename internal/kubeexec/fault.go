// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package kubeexec

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/kubeexec/exec"
)

// fault is a fault of this program that what a node has printed brought to light. What a node prints is its own, and may be
// anything: as an error of that node alone it costs the others nothing, where a crash would cost all of them, again and again.
type fault struct {
	node  string
	in    exec.Container
	cause any
	where string
}

// maxWhere bounds how much of a stack is told.
const maxWhere = 1024

// newFault is called by what is deferred, with what it has recovered.
func newFault(cause any, node string, in exec.Container) *fault {
	stack := string(debug.Stack())
	if _, after, found := strings.Cut(stack, "\npanic("); found {
		stack = after
	}
	return &fault{node: node, in: in, cause: cause, where: stack[:min(len(stack), maxWhere)]}
}

// Error implements error.
func (f *fault) Error() string {
	return fmt.Sprintf("kubeexec: read node %s in %s: a fault of this program, which its authors would like to know of: %v: %s",
		f.node, f.in, f.cause, f.where)
}
