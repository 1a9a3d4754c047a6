// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/otelgpu/gpureceiver/cmd/otelgpu/internal/get"
)

// defaultLimit is how many entries otelgpu get prints if neither --limit nor --all is given.
const defaultLimit = 100

// filters are the parameters of the API that otelgpu get passes on.
func filters() map[string]string {
	return map[string]string{
		"cluster":   "only this `CLUSTER`; - stands for nodes outside clusters",
		"node":      "only this `NODE`",
		"namespace": "only this `NAMESPACE`",
		"pod":       "only this `POD`",
		"gpu":       "only this `GPU`, by its ID, PCI address or, with a node, its index",
		"by":        "the summary's groups: cluster, node, namespace, workload or model; of teams: namespace, slurm_account, workload or label",
		"label":     "teams: the `LABEL` of pods by which --by label groups; gpus: only of pods with NAME=VALUE",
		"severity":  "only problems or events of this `SEVERITY` or a higher one",
		"kind":      "only problems of this `KIND`",
		"state":     "problems: present or ended; nodes: live or stale",
		"search":    "only entries with this `TEXT` in a name, a state or a whole number",
		"sort":      "sort by this `FIELD` of the API; -FIELD sorts in descending order",
	}
}

func runGet(ctx context.Context, args []string, out *os.File, errs io.Writer) error {
	var (
		server serverFlags
		o      get.Options
		all    bool
	)
	flags := newFlags("otelgpu get RESOURCE")
	server.registerServer(flags)
	server.register(flags)
	flags.StringVar(&o.Output, "o", "table", "output `FORMAT`: table, json (the API's items) or csv (the API's)")
	flags.IntVar(&o.Limit, "limit", defaultLimit, "print at most this many `ENTRIES`")
	flags.BoolVar(&all, "all", false, "print all entries")
	flags.DurationVar(&o.Wait, "wait", 0, "wait up to this long for the server to answer with an entry")
	values := map[string]*string{}
	for name, help := range filters() {
		values[name] = flags.String(name, "", help)
	}
	words, err := parse(flags, args, "RESOURCE is one of "+strings.Join(names(), ", ")+".", out)
	if err != nil {
		return err
	}
	resource, err := findResource(words)
	if err != nil {
		return err
	}
	if !slices.Contains(get.Outputs, o.Output) {
		return usageErrorf("-o %s; give one of %s", o.Output, strings.Join(get.Outputs, ", "))
	}
	if o.Limit < 1 {
		return usageErrorf("--limit %d; give a number above 0, or --all", o.Limit)
	}
	if o.Wait < 0 {
		return usageErrorf("--wait %v; give a time above 0", o.Wait)
	}
	if all {
		o.Limit = 0
	}
	o.Filters = url.Values{}
	for name, value := range values {
		if *value != "" {
			o.Filters.Set(name, *value)
		}
	}
	c, err := server.client()
	if err != nil {
		return err
	}
	defer c.Close()
	return get.Run(ctx, c, resource, o, out, errs)
}

func names() []string {
	var names []string
	for _, r := range get.Resources() {
		names = append(names, r.Name)
	}
	return names
}

func findResource(words []string) (get.Resource, error) {
	if len(words) == 1 {
		for _, r := range get.Resources() {
			if r.Name == words[0] {
				return r, nil
			}
		}
	}
	return get.Resource{}, usageErrorf("get %q; give one of %s", strings.Join(words, " "), strings.Join(names(), ", "))
}
