// Copyright The gpureceiver Authors
// SPDX-License-Identifier: Apache-2.0

// Command serve shows a generated fleet on the page, to work on the page: the fleet changes every second.
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/otelgpu/gpureceiver/internal/view"
	"github.com/otelgpu/gpureceiver/internal/view/viewtest"
	"github.com/otelgpu/gpureceiver/test/page/fleets"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address")
	nodes := flag.Int("nodes", 0, "nodes with 8 GPUs each; 0: the sample fleet of the tests")
	still := flag.Bool("still", false, "nothing changes")
	flag.Parse()
	snapshot := viewtest.Snapshot()
	if *nodes > 0 {
		snapshot = fleets.Large(*nodes)
	}
	reader := fleets.NewReader(snapshot)
	if !*still {
		go move(reader, snapshot)
	}
	fmt.Println("http://" + *listen)
	log.Fatal((&http.Server{Addr: *listen, Handler: fleets.Handler(reader), ReadHeaderTimeout: 10 * time.Second}).ListenAndServe())
}

// move changes the use of some GPUs every second.
func move(reader *fleets.Reader, s *view.Snapshot) {
	for range time.Tick(time.Second) {
		s = fleets.Copy(s)
		s.Generation++
		for _, n := range s.Nodes {
			for _, g := range n.GPUs {
				if g.Utilization.General != nil && rand.IntN(30) == 0 {
					g.Utilization.General = new(float64(rand.IntN(101)) / 100)
				}
			}
		}
		reader.Set(s)
	}
}
