// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package api

import (
	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

// maxLimit bounds a page.
const maxLimit = 1000

func clusterParameter() route.Parameter {
	return route.Parameter{
		Name: "cluster", Alias: "cluster_id", Example: "prod",
		Description: "Only of this cluster (k8s.cluster.name). \"-\" stands for nodes outside clusters.",
	}
}

func nodeParameter() route.Parameter {
	return route.Parameter{Name: "node", Example: "n1", Description: "Only of this node (k8s.node.name, or host.name)."}
}

func namespaceParameter() route.Parameter {
	return route.Parameter{Name: "namespace", Example: "ml", Description: "Only of this Kubernetes namespace."}
}

func podParameter() route.Parameter {
	return route.Parameter{Name: "pod", Example: "train-0", Description: "Only of this pod."}
}

// userParameters select GPUs by what holds or uses them.
func userParameters() []route.Parameter {
	return []route.Parameter{
		namespaceParameter(), podParameter(),
		{Name: "workload", Example: "train", Description: "Only of this workload, by its name."},
		{Name: "workload_kind", Example: "StatefulSet", Description: "Only of workloads of this kind."},
		{Name: "slurm_account", Description: "Only of jobs of this Slurm account."},
		{Name: "label", Description: "Only of pods with this label: name=value."},
	}
}

const gpuForms = "hw.id, PCI address, or index on its node. A slash in it is written %2F."

func gpuParameter() route.Parameter {
	return route.Parameter{Name: "gpu", Example: "GPU-n1-0", Description: "Only of this GPU and its partitions: " + gpuForms}
}

func idParameter() route.Parameter {
	return route.Parameter{Name: "id", Path: true, Required: true, Example: "GPU-n1-0", Description: "The GPU: " + gpuForms}
}

// pageParameters are the parameters of a list with these names of columns to sort by.
func pageParameters(sorts []string, order string) []route.Parameter {
	return []route.Parameter{
		{
			Name: "search", Example: "n1",
			Description: "Only entries with this text in a name, a state or another text, or in a whole number. Upper and lower case are the same. In the default order, entries that have exactly this text are first.",
		},
		{
			Name: "sort", Kind: route.Choice, Choices: sorts, Default: order,
			Description: "The column to sort by. With - before it, the largest value is first. Entries without a value are last.",
		},
		{
			Name: "limit", Kind: route.Integer, Min: 1, Max: maxLimit, Default: "100",
			Description: "Entries on a page.",
		},
		{Name: "cursor", Description: "The next page: \"next\" of the previous page. The other parameters must be the same."},
	}
}

// scope is the part of the fleet that a request asks for.
func scope(r *route.Request) query.Scope {
	return query.Scope{Cluster: r.Text("cluster"), Node: r.Text("node")}
}

// userNames returns the texts by which a user of a GPU is found.
func userNames(u *view.User) []string {
	names := []string{textOf(u.Namespace) + "/" + textOf(u.Pod)}
	for _, name := range []*string{
		u.Container, u.ContainerID, u.ContainerName, u.WorkloadKind, u.Workload, u.SlurmJob, u.SlurmSLUID, u.SlurmUser, u.SlurmAccount, u.BatchJob, u.SystemdUnit,
	} {
		if name != nil {
			names = append(names, *name)
		}
	}
	return names
}

func users(r *route.Request) query.UserFilter {
	return query.UserFilter{
		Namespace: r.Text("namespace"), Pod: r.Text("pod"), Workload: r.Text("workload"), Kind: r.Text("workload_kind"),
		Account: r.Text("slurm_account"), Label: r.Text("label"),
	}
}
