// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package compat

import (
	"encoding/json"
	"fmt"
	"iter"
	"net/http"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/query"
	"github.com/otelgpu/gpureceiver/internal/view/route"
)

func routesC(reader view.Reader) []route.Route {
	return []route.Route{{
		Path: "/api/v1/monitoring/gpu-metrics", ID: "getMetricsC", Tag: tag, Summary: "Every GPU, in form C",
		Description: "The answer follows the format of a fleet manager. The id of a GPU is gpu-<index> if the answer contains one node, otherwise <cluster>/<node>/gpu-<index>.",
		Parameters:  []route.Parameter{clusterParameter(), nodeParameter()}, Answer: MetricsC{},
		Problems: []int{http.StatusNotFound, http.StatusConflict, http.StatusServiceUnavailable},
		Serve: func(w http.ResponseWriter, r *route.Request) error {
			s := reader.Snapshot()
			nodes, err := query.Nodes(s, scope(r))
			if err != nil {
				return err
			}
			if err := readable(s, scope(r), nodes); err != nil {
				return err
			}
			timestamp, err := json.Marshal(s.Time)
			if err != nil {
				return fmt.Errorf("write the time as JSON: %w", err)
			}
			return writeList(w, r, route.JSON, `{"timestamp":`+string(timestamp)+`,"gpus":[`, gpusC(nodes), "]}")
		},
	}}
}

// gpusC returns the GPUs of nodes. The ID of a GPU is gpu-<index> if there is one node. Among several this would name many GPUs, and the ID
// starts with the node: <cluster>/<node>/gpu-<index>.
func gpusC(nodes []*view.Node) iter.Seq[GPUC] {
	return func(yield func(GPUC) bool) {
		for _, n := range nodes {
			prefix := ""
			if len(nodes) > 1 {
				prefix = n.Name + "/"
				if n.Cluster != nil {
					prefix = *n.Cluster + "/" + prefix
				}
			}
			for _, d := range devices(n) {
				if !yield(gpuC(&d, prefix)) {
					return
				}
			}
		}
	}
}
