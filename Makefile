# Everything runs from the root of the repository. `make help` lists what there is.

SHELL := /bin/bash
# go-nvml's header declares old functions deprecated, for which gcc prints hundreds of lines.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
# As ocb compiles: with other flags every package would be compiled twice.
export GOFLAGS := $(filter-out -trimpath,$(shell go env GOFLAGS)) -trimpath
# Recorded outputs of the vendors' tools, which are not part of the repository. Without them the tests that read them are skipped.
export GPU_RECORDINGS ?= $(wildcard $(abspath ../shared/recordings))
TOOL := go tool -modfile=tools/go.mod
DIST := dist/otelcol-gpu
SIM  := bin/nvmlsim

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# ---- run ----

RUN := --collector $(DIST) --log demo-output/collector.log --also "Prometheus http://127.0.0.1:9400/metrics, OTLP demo-output/otlp.jsonl"

.PHONY: demo
demo: otelcol-gpu otelgpu nvmlsim ## build otelcol-gpu and run it on a simulated node of 8 NVIDIA GPUs
	@go build -o bin/demonode ./test/nvmlsim/demonode
	@umask 077; mkdir -p demo-output; export DEMO_NODE=$$(mktemp -d); bin/demonode $$DEMO_NODE & \
		trap "kill $$! 2>/dev/null; rm -rf $$DEMO_NODE" EXIT; until [ -S $$DEMO_NODE/kubelet.sock ]; do sleep 0.1; done; \
		NVMLSIM_SCENARIO=$(CURDIR)/test/nvmlsim/scenarios/demo.scenario GPU_NVML_LIBRARY=$(CURDIR)/$(SIM)/libnvidia-ml.so.1 \
		bin/otelgpu run --simulated --config config/demo.yaml $(RUN)

.PHONY: run
run: otelcol-gpu otelgpu ## the same on this machine's own GPUs
	@umask 077; mkdir -p demo-output; \
		bin/otelgpu run --config config/run.yaml $(RUN)

# ---- build ----

.PHONY: otelcol-gpu
otelcol-gpu: ## build the collector with ocb from builder-config.yaml
	@scripts/build-collector.sh $(DIST)

.PHONY: otelcol-gpu-ledger
otelcol-gpu-ledger: ## the same with the exporter gpu_ledger, from builder-config-ledger.yaml, in dist/ledger
	@scripts/build-collector.sh dist/ledger/otelcol-gpu-ledger builder-config-ledger.yaml

.PHONY: otelgpu
otelgpu: ## build bin/otelgpu, which shows GPUs in a terminal and finds out what can be read; with cgo, as NVML is a C library
	@CGO_ENABLED=1 go build -ldflags '-s -w' -o bin/otelgpu ./cmd/otelgpu

.PHONY: release
release: ## archives, deb, rpm, bills of materials and checksums of every platform into dist/release; linux/arm64 needs gcc for it
	@scripts/release.sh

.PHONY: chart
chart: .tools/helm ## the Helm chart as an archive in dist/chart
	.tools/helm package deploy/helm/gpureceiver -d dist/chart

.PHONY: image
image: ## the container image of amd64 and arm64 as archives in dist/image, by whichever of buildah, podman and docker is there
	@scripts/image.sh

.PHONY: page
page: ## build the page of gpu_view from its TypeScript; the built files are committed
	@scripts/build-page.sh

.PHONY: nvmlsim
nvmlsim: ## build the simulated libnvidia-ml.so.1
	@$(MAKE) --no-print-directory -s -C test/nvmlsim OUT=$(CURDIR)/$(SIM)

.PHONY: generate
generate: ## regenerate from metadata.yaml: internal/metadata, documentation.md, the status in README.md, diagrams, versions, the page's types; the metadata of the exporters
	@scripts/generate.sh

.PHONY: dashboards
dashboards: ## write the Grafana dashboards of deploy/grafana from tools/dashboards
	cd tools/dashboards && go run . ../../deploy/grafana

.PHONY: rules
rules: ## write the alerting rules of deploy/prometheus, and their copy in the Helm chart, from internal/alerts and the catalogue of XIDs
	go run ./internal/alerts .

# ---- check ----

# CI sets RACE=1, and GO_TEST to a program that tries a failed test once more by itself.
GO_TEST ?= go test
export GO_TEST

.PHONY: test
test: ## every test that needs no root and nothing outside the tree; RACE=1 runs them under the race detector
	@$(GO_TEST) $(if $(RACE),-race) -timeout 40m $$(go list ./... | grep -v /test/deploy$$) # test-deploy has the API server and Helm that these need
	@cd exporter/ledger && $(GO_TEST) $(if $(RACE),-race) ./... # on SQLite

.PHONY: check
check: generated-up-to-date lint compile-everywhere test-collector test-page test-rules test-docs test-deploy e2e-smoke ## what every change must pass besides test

.PHONY: check-all
check-all: check build-everywhere vulnerabilities test-ledger test-nvidia-tool test-amd-tools test-release image e2e events-kill stops fuzz ## everything that runs without a GPU; CONTRIBUTING.md says which change needs which part

.PHONY: generated-up-to-date
generated-up-to-date:
	@scripts/check-generated.sh

# What cgo writes names the checkout although -trimpath is set (golang.org/issue/36072), and the build cache gives it to every checkout.
# A flag that differs by checkout keeps the outputs of the two packages that use cgo apart; golangci-lint caches absolute paths, too.
CGO_OF_CHECKOUT = $(foreach p,internal/nvml/library test/nvmlsim,-gcflags=github.com/otelgpu/gpureceiver/$p=-trimpath=$(CURDIR)/=)
LINT = GOFLAGS='$(GOFLAGS) $(CGO_OF_CHECKOUT)' GOLANGCI_LINT_CACHE=$(CURDIR)/.tools/lint-cache$(CURDIR) $(CURDIR)/.tools/golangci-lint run ./...

.PHONY: lint
lint: .tools/golangci-lint ## golangci-lint, once in each module; words in comments and names
	$(LINT)
	cd exporter/ledger && $(LINT)
	cd tools && $(LINT)
	cd test/page && $(LINT)
	cd test/docs && $(LINT)
	cd test/docs && go test -count=1 -run '^TestRates' .

.tools/golangci-lint: tools/lint/go.mod
	go build -modfile=tools/lint/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: compile-everywhere
compile-everywhere: ## the types agree without cgo, and for Windows and macOS; the tests of what stands in for NVML
	go build -o bin/typecheck ./test/typecheck
	for os in linux windows darwin; do CGO_ENABLED=0 GOOS=$$os bin/typecheck ./... && (cd exporter/ledger && CGO_ENABLED=0 GOOS=$$os $(CURDIR)/bin/typecheck ./...) || exit 1; done
	CGO_ENABLED=0 $(GO_TEST) ./internal/nvml/...

.PHONY: build-everywhere
build-everywhere: ## everything compiles without cgo, and for Windows and macOS; the receiver's tests without cgo
	for os in linux windows darwin; do CGO_ENABLED=0 GOOS=$$os go build ./... || exit 1; done
	CGO_ENABLED=0 go test ./receiver

.PHONY: vulnerabilities
vulnerabilities: ## govulncheck; says so if its database cannot be reached
	@scripts/vulnerabilities.sh

.PHONY: events-kill
events-kill: otelcol-gpu nvmlsim ## kills the collector at random points, for 2 minutes on a simulated node and 200 times on a real API server: no event that can be known is lost or false
	test/kubernetes/build.sh
	GPURECEIVER_KILL_TIME=2m GPURECEIVER_KILLS=200 OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 -p 1 -timeout 90m -run 'OutliveKills' -v ./test/collector ./test/clusterevents

.PHONY: stops
stops: otelcol-gpu nvmlsim ## stops the collector 200 times with config/run.yaml and config/demo.yaml: each stop is clean
	GPURECEIVER_STOPS=200 OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 -timeout 60m -run TestStops -v ./test/collector

.PHONY: test-collector
test-collector: otelcol-gpu nvmlsim hardware ## the built collector, end to end, on the simulated node
	PATH="$$PATH:$$(scripts/prometheus.sh)" PROMETHEUS_OTLP="$$(scripts/prometheus-otlp.sh)" OTELCOL_GPU=$(CURDIR)/$(DIST) HARDWARE=$(CURDIR)/$(HARDWARE) $(GO_TEST) -count=1 -timeout 30m ./test/collector ./test/hardware

HARDWARE := bin/hardware
.PHONY: hardware
hardware: otelcol-gpu otelgpu
	@mkdir -p $(HARDWARE)
	@cp $(DIST) bin/otelgpu $(HARDWARE)
	@cc -O2 -s -Wall -Wextra -o $(HARDWARE)/load test/hardware/programs/load.c -ldl
	@cc -O2 -s -Wall -Wextra -shared -fPIC -o $(HARDWARE)/count.so test/hardware/programs/count.c -lpthread
	@go build -ldflags '-s -w' -o $(HARDWARE)/hardware ./test/hardware

.PHONY: test-hardware
test-hardware: hardware ## what the collector reports of this machine's GPUs, against a load and the vendor's tool; says so without a GPU
	@$(HARDWARE)/hardware $(HARDWARE_FLAGS)

.PHONY: test-ledger
test-ledger: otelcol-gpu-ledger otelgpu ## the exporter gpu_ledger on real servers of PostgreSQL and MariaDB, with 50 kills of the collector and the servers; says so without them
	cd exporter/ledger && LEDGER_KILLS=50 OTELCOL_GPU_LEDGER=$(CURDIR)/dist/ledger/otelcol-gpu-ledger ../../test/ledger/servers.sh $(GO_TEST) -count=1 -timeout 30m ./...

.PHONY: test-nvidia-tool
test-nvidia-tool: ## the real nvidia-smi on the simulated library against the nvml scraper; says so if it cannot be had
	test/nvidiatool/run.sh

.PHONY: test-amd-tools
test-amd-tools: ## AMD's real tools on simulated files against our own sources; needs root, says so and skips without
	test/amdtools/run.sh

.PHONY: test-page
test-page: otelcol-gpu nvmlsim ## the page of gpu_view in a real Chromium, and whether its built files are up to date; says so and skips without
	test/page/run.sh

.PHONY: test-rules
test-rules: ## recording and alerting rules against their unit tests, by promtool; says so and skips without
	test/rules/run.sh

.PHONY: test-docs
test-docs: otelcol-gpu ## the documentation: links and anchors, language, examples, and the commands and names in sentences
	cd test/docs && OTELCOL_GPU=$(CURDIR)/$(DIST) $(GO_TEST) -count=1 -timeout 30m ./...
	cd tools && $(GO_TEST) ./...

.PHONY: test-deploy
test-deploy: otelcol-gpu .tools/helm .tools/kubeconform ## manifests and chart: lint, golden files, schemas, the collector's validation, a real API server; says so without Debian's etcd
	for values in test/deploy/testdata/helm/*.values.yaml; do .tools/helm lint --strict --quiet --kube-version 1.34.0 -f $$values deploy/helm/gpureceiver || exit 1; done
	if command -v apt-get >/dev/null; then test/kubernetes/build.sh; else echo "SKIP: test-deploy: no API server: etcd is unpacked from Debian's packages"; fi
	$(MAKE) chart
	HELM=$(CURDIR)/.tools/helm KUBECONFORM=$(CURDIR)/.tools/kubeconform OTELCOL_GPU=$(CURDIR)/$(DIST) $(GO_TEST) -count=1 -timeout 30m ./test/deploy

.tools/helm: tools/helm/go.mod
	go build -modfile=tools/helm/go.mod -o $@ helm.sh/helm/v3/cmd/helm

.tools/kubeconform: tools/helm/go.mod
	go build -modfile=tools/helm/go.mod -o $@ github.com/yannh/kubeconform/cmd/kubeconform

.PHONY: test-release
test-release: nvmlsim ## the release of this machine's platform, built twice, and its packages in a fresh Debian; that needs root, says so and skips without
	test/release/run.sh

# One start of the cluster: a collector beside a real kubelet, and the chart with its agents and its reads from outside.
.PHONY: e2e-smoke
e2e-smoke: otelcol-gpu otelgpu nvmlsim .tools/helm ## the part of e2e that every change must pass
	HELM=$(CURDIR)/.tools/helm test/kubernetes/run.sh -run '^TestChart$$|^TestAgent$$/^(nobody|pods come and go|several devices in a container)$$'

.PHONY: e2e
e2e: otelcol-gpu otelgpu nvmlsim .tools/helm ## on a real Kubernetes that the test brings up: exec, agent, the Helm chart; needs root, says so and skips without
	HELM=$(CURDIR)/.tools/helm test/kubernetes/run.sh

.PHONY: fleet
fleet: otelcol-gpu ## 1,000 simulated nodes on a real API server: one collector, then three, one killed; 25 minutes, needs root
	test/kubernetes/build.sh
	go run ./test/fleet -collector $(DIST) -check $(FLEET)
	go run ./test/fleet -collector $(DIST) -replicas 3 -intervals 5 -check

.PHONY: view-fleet
view-fleet: otelcol-gpu ## what gpu_view costs a gateway of 1,000 nodes, and how fast it answers; 10 minutes
	go run ./test/fleet/view -collector $(DIST) -check

.PHONY: measure
measure: otelcol-gpu nvmlsim ## prints what docs/operate/performance.md states; two hours, needs root
	scripts/measure.sh

.PHONY: ledger-scale
ledger-scale: ## what the ledger of 1,000 nodes with 500 new pods a minute costs, and how long a report of 30 days takes; an hour, 40 GB of disk
	cd exporter/ledger && LEDGER_SCALE=60 LEDGER_SCALE_DAYS=30 ../../test/ledger/servers.sh $(GO_TEST) -count=1 -timeout 180m -v -run TestScale .

.PHONY: cost
cost: otelcol-gpu nvmlsim ## what the running collector costs
	go run ./test/collector/cost -collector $(DIST) $(COST)

.PHONY: cost-floor
cost-floor: nvmlsim ## what it would cost to send the same points without reading them, in turn with reading them
	scripts/build-floor.sh dist/floor
	go run ./test/collector/cost -collector dist/floor/otelcol-gpu -floor -rounds 6

.PHONY: delivery
delivery: otelcol-gpu nvmlsim ## an outage of ten minutes, a restart within it and a SIGTERM after it: no message is lost
	GPURECEIVER_OUTAGE=10m OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 -timeout 30m -run TestOutageLosesNothing -v ./test/collector

.PHONY: events-load
events-load: otelcol-gpu ## a hundred bursts of 10,000 XIDs; 5,000 pods and 500 more a minute: memory flat, order kept, nothing lost that is not counted; 20 minutes
	GPURECEIVER_EVENTS_LOAD=$(or $(BURSTS),100) go test -count=1 -timeout 60m -v ./test/eventsload
	test/kubernetes/build.sh
	GPURECEIVER_PODS=$(or $(PODS),5000:500:600) OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 -timeout 60m -run TestManyPods -v ./test/clusterevents

.PHONY: bench
bench: ## parts of a scrape alone, in a loop
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: fuzz
fuzz: ## 20 seconds of each fuzz test
	@scripts/fuzz.sh 20s

.PHONY: clean
clean:
	rm -rf bin dist demo-output
