# Every command that a developer needs. The shell scripts behind the longer ones stand in .ci/.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := build

BIN     := $(CURDIR)/bin
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Without C, as in the release and the image: one static program, compiled once for all three. Without tables for debuggers, a third of its size;
# stack traces and profiles do not need them.
BUILD   := CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)"

# Versions of the tools that are no dependency of the product.
GOLANGCI_LINT     := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOTESTSUM         := gotest.tools/gotestsum@v1.13.0
GOVULNCHECK       := golang.org/x/vuln/cmd/govulncheck@v1.9.0
HELM              := helm.sh/helm/v3/cmd/helm@v3.19.2
PROTOC_GEN_GO     := google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GRPC   := google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
# What the integration tests need from the system: a web server, a name server, network namespaces, four real sites, a browser, shells, curl, checkers of
# manual pages and of Python's types, a maker of certificates, containers, proxies. Node, for another reader of WARC files and the schemas of Kubernetes, may come from elsewhere. Of prometheus only promtool
# is used, of systemd only systemd-analyze.
DEB_PACKAGES      := nginx-light dnsmasq-base iproute2 iptables sqlite3-doc postgresql-doc-15 debian-policy gnuplot-doc prometheus systemd \
                     'chromium|chromium-headless-shell|google-chrome-stable' curl wget mypy openssl fonts-liberation zsh fish mandoc podman runc netavark aardvark-dns \
                     apache2-bin dante-server microsocks
# Folders whose package-lock.json names packages of npm, which go below these folders.
NPM_FOLDERS       := integration/warcio integration/wabac integration/manifests integration/axe integration/duckdb integration/webbotauth integration/grpcjs integration/mcpclient

# T is the time for each fuzz target, SEEDS the number of fixed simulations and RANDOM_SEEDS of others, COUNT the
# repeats of benchmarks, PAIRS the runs of each thing that is compared, GOALS letters of docs/performance.md, SOAK_RUNS the runs of each fault scenario,
# ONLY the steps of a nightly run, PREFIX the folder of make install, PAGES the sites of make engines, FLAGS those of
# make boilerplate.
T         ?= 30s
SEEDS     ?= 20
RANDOM_SEEDS ?= 0
COUNT     ?= 7
PAIRS     ?= 7
GOALS     ?= a b c d e f g h i j k l s
SOAK_RUNS ?= 20
BEFORE    ?=
ONLY      ?=
PAGES     ?=
FLAGS     ?=
DESTDIR   ?=
PREFIX    ?= /usr/local

.PHONY: build demo test test-quick check nightly compile race units raced unraced tools sim mutants fuzz integ integrated bench benchonce pgo flame scale lint vuln generate deps soak install firsthour rendering rendercost engines boilerplate release image containers help

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## bin/crawlnode
	$(BUILD) -o $(BIN)/crawlnode ./cmd/crawlnode

demo: build ## three nodes and a synthetic web on loopback, one node killed half-way, its data deleted
	$(BIN)/crawlnode demo

test: ## tests of every kind, as each commit must pass them: units, models, the known inputs of each fuzz target, simulations, real processes
	.ci/run test

test-quick: ## some three minutes for a change, nothing is installed: build, vet, unit tests of what was changed and of all that imports it
	.ci/quick

check: ## all that a commit must pass: lint, build, test; the time of each part, what was left out and the slowest tests
	.ci/run check

nightly: ## what takes hours: see docs/testing.md; appends to docs/results/nightly.md. ONLY="units fuzz" runs some steps
	.ci/nightly $(ONLY)

units: tools ## all tests but integration: under the race detector where goroutines meet
	@$(MAKE) -k -j2 --output-sync=target raced unraced

# Which tests these are is marked in their files: see .ci/race.
raced: tools # the packages that the race detector watches, and of others the tests in which goroutines meet
# Clusters of whole nodes come first, with no other package beside them and one or two at a time: more
# at once exclude each other for being silent, and do all that follows from it instead of the test.
	@rest=$$(.ci/race rest | grep -vx ./node); marked=$$(.ci/race marked); meets=$$(.ci/race meets); status=0; \
	.ci/gotest nodes -race -short -timeout 60m -parallel 2 ./node || status=1; \
	.ci/gotest race -race -short -timeout 60m -parallel 4 $$rest || status=1; \
	.ci/gotest meet -race -short -timeout 60m -run "$$meets" $$marked || status=1; \
	exit $$status

unraced: tools # the others: the command line's tests mostly wait
	@none=$$(.ci/race none); marked=$$(.ci/race marked); \
	.ci/gotest norace -short -timeout 60m -p 1 -parallel 4 $$none $$marked

compile: ## what `make units` compiles, without a test; the linker's part cannot be done ahead
	@none=$$(.ci/race none); marked=$$(.ci/race marked); rest=$$(.ci/race rest); \
	go list -race -export -test -deps $$rest $$marked >/dev/null; \
	go list -export -test -deps $$none $$marked >/dev/null

race: ## all tests but integration to the end, under the race detector
	go test -race -count=1 -timeout 60m $$(go list ./... | grep -v '/integration$$')

sim: ## simulations with the seeds 1 to SEEDS, and RANDOM_SEEDS random ones, which are printed
	SEEDS=$(SEEDS) RANDOM_SEEDS=$(RANDOM_SEEDS) go test -count=1 -run '^TestSim$$' -timeout 180m -v ./integration

mutants: ## deliberate mistakes, one at a time: which test notices each; hours; appends to docs/results/mutants.md. MUTANTS names some
	go run ./integration/mutants -only '$(MUTANTS)' -report docs/results/mutants.md

fuzz: ## each fuzz target for T
	.ci/fuzz $(T)

integ: deps integrated ## real processes, real sites, faults, simulations; some clusters at a time

integrated: tools # without a look at what they need
	@.ci/gotest integration -count=1 -timeout 120m -parallel 6 ./integration

bench: build ## Go benchmarks, then the goals of docs/performance.md; appends the figures to docs/results/bench.md. BEFORE=COMMIT: a, c, f against it
	.ci/deps wget2 python3-scrapy
	[ -n "$(BEFORE)" ] || go test -run '^$$' -bench . -benchmem -count $(COUNT) ./...
	BEFORE=$(BEFORE) .ci/bench $(PAIRS) $(GOALS)

benchonce: ## each Go benchmark once and small, so that none rots
	go test -run '^$$' -bench . -benchtime 1x -short $$(git grep -l '^func Benchmark' -- '*_test.go' | xargs -n1 dirname | sort -u | sed 's|^|./|')

pgo: build ## cmd/crawlnode/crawl.pgo, the profile of crawls that releases are compiled by, and bin/crawlnode compiled by it: some minutes
	.ci/pgo $(VERSION)

flame: build ## docs/pictures/flame.png: where the time of a page goes
	.ci/deps chromium
	.ci/flame

scale: ## placement in clusters of up to 1,000 nodes, traffic of up to 30: the tables behind docs/scaling.md
	go run ./integration/scale
	go test -count=1 -timeout 30m -v -run 'Traffic$$' ./integration/scale -traffic.members 5,10,30 -traffic.nodes 3,10 -traffic.joins 3,8,24

lint: $(BIN)/golangci-lint ## gofmt, go vet, staticcheck and the linters of .golangci.yml; go vet for darwin
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$unformatted" ] || { echo "gofmt differs: $$unformatted"; exit 1; }
	$(BIN)/golangci-lint run
	GOOS=darwin GOARCH=arm64 CGO_ENABLED=0 go vet ./...

vuln: $(BIN)/govulncheck ## known vulnerabilities of the dependencies; needs the network, or GOVULNDB=file:///a/copy
	.ci/vuln

# A tool is built anew when its version in this file may have changed.
tools: $(BIN)/gotestsum
$(BIN)/golangci-lint: Makefile
	GOBIN=$(BIN) go install $(GOLANGCI_LINT) && touch $@
$(BIN)/gotestsum: Makefile
	GOBIN=$(BIN) go install $(GOTESTSUM) && touch $@
# Helm takes clusters for as old as its own makefile would not have it do.
$(BIN)/helm: Makefile
	GOBIN=$(BIN) go install -ldflags "-s -w $(foreach v,Major=1 Minor=34,-X helm.sh/helm/v3/pkg/chartutil.k8sVersion$(v))" $(HELM) && touch $@
$(BIN)/govulncheck: Makefile
	GOBIN=$(BIN) go install $(GOVULNCHECK) && touch $@

generate: build ## the code behind the .proto files, the references in docs/, the Python client's model, THIRD_PARTY_LICENSES
	$(BIN)/crawlnode reference docs
	go test ./api -run '^TestDocumentIsCommitted$$' -rewrite
	python3 clients/python/generate.py
	GOBIN=$(BIN) go install $(PROTOC_GEN_GO)
	GOBIN=$(BIN) go install $(PROTOC_GEN_GRPC)
	@command -v protoc >/dev/null || { echo 'protoc is missing: apt-get install protobuf-compiler'; exit 1; }
	PATH=$(BIN):$$PATH protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative peer/*.proto workers/urlfrontier/wire/*.proto
	go test -count=1 -run '^TestReferenceIsCurrent$$' ./metrics -write
	.ci/licenses >THIRD_PARTY_LICENSES

deps: ## what the integration tests need from the system; nothing when it is there; it upgrades, enables and starts nothing
	@status=0; .ci/deps $(DEB_PACKAGES) $$(command -v node >/dev/null && command -v npm >/dev/null || echo nodejs npm) || status=1; \
	for folder in $(NPM_FOLDERS); do .ci/npm "$$folder" || status=1; done; \
	$(MAKE) --no-print-directory $(BIN)/helm || status=1; exit $$status

containers: deps ## deploy/compose.yaml as real containers, under load; README and tutorial word by word in a fresh one, without network
	.ci/rootfs $(BIN)/_rootfs
	go test -count=1 -timeout 60m -v -run '^TestContainers' ./integration -containers

install: build ## the program, its manual page and completions below PREFIX (/usr/local); DESTDIR stands before it
	.ci/install $(BIN)/crawlnode "$(DESTDIR)$(PREFIX)"

firsthour: deps ## the scripts of examples beside the same with wget2, wget and Scrapy; appends to docs/results/firsthour.md
	.ci/deps wget wget2 python3-scrapy
	go test -count=1 -timeout 30m -v -run '^TestFirstTasks$$' ./integration -rivals

rendering: deps ## applications built with real libraries in a browser: every page, its text; appends to docs/results/applications.md
	.ci/npm integration/applications
	go test -count=1 -timeout 60m -v -run '^TestApplications$$' ./integration -applications

rendercost: deps ## what a page in the browser costs, beside crawlee and chromium --dump-dom; appends to docs/results/rendercost.md
	.ci/npm integration/applications
	.ci/npm integration/crawlee
	go test -count=1 -timeout 30m -v -run '^TestRenderCost$$' ./integration -rendercost 60

engines: ## the index beside bleve and SQLite's FTS5, on the HTML pages of PAGES: one folder a site, such as Debian packages of documentation after dpkg -x
	@test -n "$(PAGES)" || { echo 'set PAGES to a folder of sites'; exit 1; }
	mkdir -p $(BIN)/_engines
	go test -count=1 -timeout 60m -v -run '^TestQuality$$' ./integration/searchquality -search.pages $(abspath $(PAGES)) -search.prepare $(BIN)/_engines
	for e in ours fts5 fts5tuned bleve blevetuned; do \
		(cd integration/searchquality/engines && go test . -count=1 -timeout 60m -v -run "^TestEngine\$$/^$$e\$$" -prepared $(BIN)/_engines); \
	done

boilerplate: ## the main text of pages beside two libraries, on the documentation that is installed; FLAGS such as -contents -worst 3
	cd integration/boilerplate && go test . && go run . $(FLAGS)

release: ## archives for linux and darwin, amd64 and arm64, with manual page and completions, and their checksums, in bin/release; the same bytes each time
	.ci/release $(VERSION) $(BIN)/release

image: ## the container image crawlnode:VERSION, and crawlnode:latest, by podman or docker
	.ci/image $(VERSION) crawlnode:$(VERSION)
	$$(command -v podman || command -v docker) tag crawlnode:$(VERSION) crawlnode:latest

soak: build deps ## long runs, for hours; appends the figures to docs/results/
	.ci/soak $(SEEDS) $(T) $(SOAK_RUNS)
