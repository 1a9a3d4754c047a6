// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/otelgpu/gpureceiver/internal/gpu"
	"github.com/otelgpu/gpureceiver/internal/kube"
	"github.com/otelgpu/gpureceiver/internal/kubeexec"
	"github.com/otelgpu/gpureceiver/internal/record"
	gpureceiver "github.com/otelgpu/gpureceiver/receiver"
)

// readClusters says for each Kubernetes API which permissions the account has, and what can be read with them.
func readClusters(ctx context.Context, receiver string, e *gpureceiver.Examination) []Section {
	var sections []Section
	for _, read := range e.ReadClusters(ctx) {
		s := Section{Name: receiver + ": " + read.Key}
		if read.Name != "" {
			s.Name += " (cluster " + read.Name + ")"
		}
		s.addCluster(&read)
		sections = append(sections, s)
	}
	return sections
}

func (s *Section) addCluster(read *gpureceiver.ClusterRead) {
	if read.Failure != nil {
		s.addFailure("API server", read.Failure, remedies[read.Failure.Reason])
	} else {
		s.add(OK, "API server", read.Endpoint+" answers")
	}
	s.addRights(read.Access)
	if len(read.NotServed) > 0 {
		s.add(Note, "kinds", "the API server does not serve "+strings.Join(read.NotServed, ", ")+
			"; correct the kind if it is misspelt; ignore this if the software of the kind is not installed here")
	}
	if read.Size != nil {
		s.add(OK, "cluster", sizeOf(read.Size))
	}
	for _, p := range read.Problems {
		s.add(Failed, p.What, p.Err.Error())
	}
	if read.Examined != nil {
		s.addExamined(read.Examined)
	}
}

// remedies are what to do if an API server cannot be read.
var remedies = map[gpu.FailureReason]string{
	gpu.FailureAPIUnreachable:  "check the address, the network and the certificate authority",
	gpu.FailureAPIUnauthorized: "renew the credentials, or correct the file that contains them",
	gpu.FailureAPIForbidden:    "grant the permission",
}

// addFailure adds why a source cannot be read, with its error.type.
func (s *Section) addFailure(subject string, failure *gpu.Failure, remedy string) {
	text := failure.Error()
	if remedy != "" {
		text += "; " + remedy
	}
	s.add(Failed, subject, text)
	s.Checks[len(s.Checks)-1].Reason = record.FailureName(failure.Reason)
}

// addRights lists the granted permissions in one line, and each missing permission in a line of its own.
func (s *Section) addRights(access []kube.Access) {
	var granted []string
	for _, a := range access {
		if a.Allowed {
			granted = append(granted, a.Permission.String())
		}
	}
	if len(granted) > 0 {
		s.add(OK, "permissions", strings.Join(granted, ", "))
	}
	for _, a := range access {
		if a.Allowed {
			continue
		}
		why := ""
		if a.Reason != "" {
			why = ": " + a.Reason
		}
		if a.Optional {
			s.add(Note, "permission", "not allowed to "+a.Permission.String()+why+"; only devices of dynamic resource allocation need it")
			continue
		}
		s.add(Failed, "permission", "not allowed to "+a.Permission.String()+why+"; grant it with a Role or ClusterRole; docs/operate/security.md")
	}
}

func sizeOf(snapshot *gpu.Cluster) string {
	nodes := map[string]bool{}
	gpus := int64(0)
	for i := range snapshot.Nodes {
		n := &snapshot.Nodes[i]
		if capacity, known := n.Capacity.Get(); known && capacity > 0 {
			nodes[n.Node] = true
			gpus += capacity
		}
	}
	return fmt.Sprintf("%d nodes offer %d GPUs and partitions; containers that request one: %d", len(nodes), gpus, len(snapshot.Requests))
}

// addExamined says which pods the targets of kubernetes_exec select, and what the tool in some of them has printed.
func (s *Section) addExamined(found *kubeexec.Examined) {
	for i := range found.Targets {
		t := &found.Targets[i]
		pods := "their pods could not be listed"
		if t.Listed {
			pods = fmt.Sprintf("%d pods", t.Pods)
		}
		s.add(Note, "target", fmt.Sprintf("%s in namespace %s, tool %s: %s", cmp.Or(t.LabelSelector, "all pods"), t.Namespace, t.Tool, pods))
	}
	for _, p := range found.Problems {
		s.addFailure(p.What, gpu.FailureOf(p.Err), "")
	}
	if found.Readable > 0 {
		s.add(OK, "nodes", fmt.Sprintf("%d with a container in which a tool can be run; this check reads the first %d", found.Readable, readNodes(found)))
	}
	for _, err := range found.Unread[:min(len(found.Unread), maxNamed)] {
		s.addFailure("node", gpu.FailureOf(err), "")
	}
	if more := len(found.Unread) - maxNamed; more > 0 {
		s.add(Failed, "nodes", fmt.Sprintf("%d more cannot be read", more))
	}
	for i := range found.Reads {
		s.addNodeRead(&found.Reads[i])
	}
}

func readNodes(found *kubeexec.Examined) int {
	names := map[string]bool{}
	for i := range found.Reads {
		names[found.Reads[i].Host.NodeName] = true
	}
	return len(names)
}

// addNodeRead says what one node answered.
func (s *Section) addNodeRead(read *kubeexec.NodeRead) {
	subject := "node " + read.Host.NodeName
	if read.Err != nil {
		s.addFailure(subject, gpu.FailureOf(read.Err), "")
		return
	}
	section := Section{}
	section.addNode(&gpureceiver.LocalRead{Scraper: read.Tool, Vendor: read.Node.Vendor, Node: read.Node})
	for _, c := range section.Checks {
		c.Subject = subject + ": " + c.Subject
		s.Checks = append(s.Checks, c)
	}
}
