# Every command that a developer needs. The shell scripts behind the longer ones stand in .ci/.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build

BIN     := $(CURDIR)/bin
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILD   := go build -trimpath -ldflags "-X main.version=$(VERSION)"

# Versions of the tools that are no dependency of the product.
STATICCHECK       := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PROTOC_GEN_GO     := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GRPC   := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
# What the integration tests need from the system: a web server, a name server, network namespaces, four real sites, a browser. Node, for
# another reader of WARC files, may come from elsewhere.
DEB_PACKAGES      := nginx-light dnsmasq-base iproute2 iptables sqlite3-doc postgresql-doc-15 debian-policy gnuplot-doc \
                     chromium fonts-liberation

# T is the time for each fuzz target, SEEDS the number of fixed simulations and RANDOM_SEEDS of others, COUNT the
# repeats of benchmarks, SOAK_RUNS the runs of each fault scenario.
T         ?= 30s
SEEDS     ?= 20
RANDOM_SEEDS ?= 0
COUNT     ?= 7
SOAK_RUNS ?= 20

.PHONY: build demo test race sim fuzz integ bench lint generate deps soak help

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## bin/crawlnode
	$(BUILD) -o $(BIN)/crawlnode ./cmd/crawlnode

demo: build ## three nodes and a synthetic web on loopback, one node killed half-way, its data deleted
	$(BIN)/crawlnode demo

test: deps ## everything: all tests under the race detector, integration among them, and a smoke of each fuzz target
	go test -race $$(go list ./... | grep -v '/integration$$')
	go test -race -count=1 -timeout 40m ./integration
	.ci/fuzz 2000x

race: ## all but integration, under the race detector
	go test -race -short ./...

sim: ## simulations with the seeds 1 to SEEDS, and RANDOM_SEEDS random ones, which are printed
	SEEDS=$(SEEDS) RANDOM_SEEDS=$(RANDOM_SEEDS) go test -count=1 -run '^TestSim$$' -timeout 60m -v ./integration

fuzz: ## each fuzz target for T
	.ci/fuzz $(T)

integ: deps ## real processes against real sites
	go test -count=1 -timeout 20m -v ./integration

bench: build ## Go benchmarks, then the cost of a page
	go test -run '^$$' -bench . -benchmem -count $(COUNT) ./...
	$(BIN)/crawlnode bench

lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt differs: $$unformatted"; exit 1; }
	go vet ./...
	GOBIN=$(BIN) go install $(STATICCHECK)
	$(BIN)/staticcheck ./...

generate: ## the code behind peer/*.proto
	GOBIN=$(BIN) go install $(PROTOC_GEN_GO)
	GOBIN=$(BIN) go install $(PROTOC_GEN_GRPC)
	@command -v protoc >/dev/null || { echo 'protoc is missing: apt-get install protobuf-compiler'; exit 1; }
	PATH=$(BIN):$$PATH protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative peer/*.proto

deps: ## what the integration tests need from the system; nothing when it is there
	.ci/deps $(DEB_PACKAGES) $$(command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm)
	.ci/npm integration/warcio

soak: build deps ## long runs, for hours; appends the figures to docs/results/
	.ci/soak $(SEEDS) $(T) $(SOAK_RUNS)
