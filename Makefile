# Everything runs from the root of the repository. `make help` lists what there is.

SHELL := /bin/bash
# go-nvml's header declares old functions deprecated, for which gcc prints hundreds of lines.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
TOOL := go tool -modfile=tools/go.mod
DIST := dist/otelcol-gpu
SIM  := bin/nvmlsim

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

# ---- run ----

.PHONY: demo
demo: otelcol-gpu gpuwatch nvmlsim ## build otelcol-gpu and run it on a simulated node of 8 NVIDIA GPUs
	@umask 077; mkdir -p demo-output; \
		NVMLSIM_SCENARIO=$(CURDIR)/test/nvmlsim/scenarios/demo.scenario GPU_NVML_LIBRARY=$(CURDIR)/$(SIM)/libnvidia-ml.so.1 \
		bin/gpuwatch -simulated -run $(DIST) -config config/demo.yaml -log demo-output/collector.log

.PHONY: run
run: otelcol-gpu gpuwatch ## the same on this machine's own GPUs
	@umask 077; mkdir -p demo-output; \
		bin/gpuwatch -run $(DIST) -config config/run.yaml -log demo-output/collector.log

# ---- build ----

.PHONY: otelcol-gpu
otelcol-gpu: ## build the collector with ocb from builder-config.yaml
	@scripts/build-collector.sh $(DIST)

.PHONY: gpuwatch
gpuwatch:
	@CGO_ENABLED=0 go build -o bin/gpuwatch ./cmd/gpuwatch

.PHONY: nvmlsim
nvmlsim: ## build the simulated libnvidia-ml.so.1
	@$(MAKE) --no-print-directory -s -C test/nvmlsim OUT=$(CURDIR)/$(SIM)

.PHONY: generate
generate: ## regenerate internal/metadata, documentation.md and the status in README.md from metadata.yaml
	@scripts/generate.sh

# ---- check ----

.PHONY: test
test: ## every test that needs no root and nothing outside the tree
	go test ./...

.PHONY: check
check: generated-up-to-date lint build-everywhere race vulnerabilities test-collector test-nvidia-tool test-amd-tools test-rules e2e ## everything that CI checks

.PHONY: generated-up-to-date
generated-up-to-date:
	@scripts/check-generated.sh

.PHONY: lint
lint: .tools/golangci-lint
	GOLANGCI_LINT_CACHE=$(CURDIR)/.tools/lint-cache .tools/golangci-lint run ./...

.tools/golangci-lint: tools/lint/go.mod
	go build -modfile=tools/lint/go.mod -o $@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

.PHONY: build-everywhere
build-everywhere: ## without cgo, and for Windows and macOS, everything compiles
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 GOOS=windows go build ./...
	CGO_ENABLED=0 GOOS=darwin go build ./...
	CGO_ENABLED=0 go test ./internal/nvml/... ./receiver

.PHONY: race
race: ## the tests under the race detector
	go test -race ./...

.PHONY: vulnerabilities
vulnerabilities:
	@scripts/vulnerabilities.sh

.PHONY: test-collector
test-collector: otelcol-gpu nvmlsim ## the built collector, end to end, on the simulated node
	PATH="$$PATH:$$(scripts/prometheus.sh)" PROMETHEUS_OTLP="$$(scripts/prometheus-otlp.sh)" OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 ./test/collector

.PHONY: test-nvidia-tool
test-nvidia-tool: ## the real nvidia-smi on the simulated library against the nvml scraper; says so where it cannot be had
	test/nvidiatool/run.sh

.PHONY: test-amd-tools
test-amd-tools: ## AMD's real tools on simulated files against our own sources; needs root, says so and skips without
	test/amdtools/run.sh

.PHONY: test-rules
test-rules: ## recording and alerting rules against their unit tests, by promtool; says so and skips without
	test/rules/run.sh

.PHONY: e2e
e2e: otelcol-gpu nvmlsim ## on a real Kubernetes that the test brings up: exec and agent; needs root, says so and skips without
	test/kubernetes/run.sh

.PHONY: fleet
fleet: otelcol-gpu ## 1,000 simulated nodes on a real API server: one collector, then three, one killed; 25 minutes, needs root
	test/kubernetes/build.sh
	go run ./test/fleet -collector $(DIST) -check
	go run ./test/fleet -collector $(DIST) -replicas 3 -intervals 5 -check

.PHONY: cost
cost: otelcol-gpu nvmlsim ## what the running collector costs, of docs/performance.md
	go run ./test/collector/cost -collector $(DIST)

.PHONY: cost-floor
cost-floor: nvmlsim ## what it would cost to send the same points without reading them, in turn with reading them
	scripts/build-floor.sh dist/floor
	go run ./test/collector/cost -collector dist/floor/otelcol-gpu -floor -rounds 6

.PHONY: delivery
delivery: otelcol-gpu nvmlsim ## an outage of ten minutes, a restart within it and a SIGTERM after it: no message is lost
	GPURECEIVER_OUTAGE=10m OTELCOL_GPU=$(CURDIR)/$(DIST) go test -count=1 -timeout 30m -run TestOutageLosesNothing -v ./test/collector

.PHONY: bench
bench: ## parts of a scrape alone, in a loop
	go test -run '^$$' -bench . -benchmem ./...

.PHONY: fuzz
fuzz: ## 20 seconds of each fuzz test
	@scripts/fuzz.sh 20s

.PHONY: clean
clean:
	rm -rf bin dist demo-output
