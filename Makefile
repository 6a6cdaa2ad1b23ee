# Two commands matter: `make run` shows belay at work, `make test` proves it.
# Everything else is for people who change belay. `make help` lists all.

GO        ?= go
BIN       := bin
SESSION   := internal/suite/testdata/sessions/claude-code.jsonl
FUZZTIME  ?= 30s
BENCHTIME ?= 300ms
BENCH_SOAK_TIME ?= 8m
BENCH_EVENTS ?= 1000,10000,100000,1000000
PROFILES  ?= $(CURDIR)/dist/profiles
# What `belay --version` says: the tag or commit of this checkout. For sources without git: make build VERSION=v1.2.3
ifeq ($(origin VERSION),undefined)
VERSION   := $(shell scripts/version)
endif
STAMP      = $(if $(VERSION),-ldflags '-X github.com/belay-hooks/belay/cmd/internal/cli.stamped=$(VERSION)')
LINT      := $(BIN)/golangci-lint
LINT_VERSION := v2.13.2

export CGO_ENABLED ?= 0

.DEFAULT_GOAL := help
.PHONY: help build run demo-leases demo-system demo-fleet test test-go test-sdk test-examples test-outside test-registry test-kubernetes test-postgres soak-postgres dev-postgres test-cosign test-race test-reset test-cross test-cross-build test-spec test-bombs test-prices test-agents test-system-agents test-reconcile test-plugins test-mcp test-boot test-installs test-crash test-approvals test-claims biglog test-soak test-faults test-mutants fuzz bench bench-soak bench-system bench-events profile bench-packages test-bench lint setup man examples fmt clean

help: ## this list
	@awk 'BEGIN{FS=":.*## "} /^[a-z-]+:.*## /{printf "  make %-14s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

build: $(BIN)/belay $(BIN)/belay-hook $(BIN)/belay-eval ## the binaries: bin/belay, bin/belay-hook for runtimes that start a command for each event, bin/belay-eval for events without a daemon

.PHONY: $(BIN)/belay $(BIN)/belay-hook $(BIN)/belay-eval
$(BIN)/belay $(BIN)/belay-hook $(BIN)/belay-eval:
	@mkdir -p $(BIN)
	$(GO) build -trimpath $(STAMP) -o $@ ./cmd/$(@F)

run: build ## a recorded Claude Code session through all eight phases (needs only Go)
	@$(BIN)/belay demo

demo-leases: build ## power lent, used up and taken back: signed hook, reviewer, child agent, proposed hook (needs only Go)
	@$(BIN)/belay demo leases

demo-system: ## system mode with real users: what each tries against the daemon and the other one, what held, and the event (as root, 2 minutes)
	@if [ "$$(uname)" != Linux ] || [ "$$(id -u)" != 0 ]; then \
		echo "demo-system was skipped: it starts programs as other users in a root directory of its own, which takes root on Linux (sudo make demo-system)"; \
	elif ! command -v systemd-socket-activate > /dev/null; then \
		echo "demo-system was skipped: it takes systemd-socket-activate, which scripts/setup installs"; \
	else \
		exec 4>&1; status=$$({ { BELAY_DEMO_LONG=1 $(GO) test -count=1 -v ./cmd/internal/systemtest; echo $$? >&3; } | \
			sed -u '/^=== /d; /^ *--- PASS/d; /^PASS$$/d; /^ok /d' >&4; } 3>&1); exit $$status; \
	fi

demo-fleet: ## three kernels on one PostgreSQL, which it installs and starts: what is tried with them, what happened and what held (a minute)
	@scripts/demo-fleet

test: setup ## everything that must hold; installs its tools first
	@$(MAKE) --no-print-directory test-go test-sdk test-examples test-outside test-registry test-kubernetes test-plugins

test-go:
	$(GO) vet ./...
	$(GO) test -timeout 14m ./...

test-sdk: ## the SDKs' own tests, natively
	scripts/test-sdk

test-examples: ## rebuild the prebuilt hooks and compare them with the lock
	scripts/build-examples -check

test-outside: ## a program of another module: a store, loader, verifier, tools and recorder of its own (5 s)
	cd testdata/outside && $(GO) vet ./... && $(GO) test ./...

test-registry: ## push and pull with a real registry on loopback, which it installs and starts
	scripts/test-registry

test-kubernetes: ## the example in deploy/kubernetes against the types of Kubernetes itself; no cluster (30 CPU seconds the first time)
	cd testdata/kubernetes && $(GO) vet ./... && $(GO) test ./...

test-postgres: ## the store for many kernels with a real PostgreSQL 15, which it installs, starts on a socket of its own and stops (2 minutes)
	scripts/test-postgres

soak-postgres: ## a million operations of 16 kernels with 64 callers each, while kernels are killed, the database crashes and its replica takes over (an hour or more; BELAY_SOAK_TIME=40m bounds it)
	scripts/soak-postgres

dev-postgres: ## a PostgreSQL of your own to try things with, in dist/postgres: prints its DSN (stop it with scripts/postgres stop dist/postgres)
	@scripts/postgres start dist/postgres

test-cosign: ## the real cosign: belay verifies what it signed, and it verifies what belay signed (builds cosign once, 7 CPU minutes)
	scripts/test-cosign

test-race: ## the packages that share state, under the race detector (cgo)
	CGO_ENABLED=1 $(GO) test -race -timeout 10m ./internal/sandbox -run 'NothingIsLeft|OneFile|FreedWith|ParallelRuns'
	CGO_ENABLED=1 $(GO) test -race -short -timeout 20m ./phases/... ./hostcalls/... ./internal/shell ./internal/glob ./internal/links ./internal/paths ./kernel/... ./guard ./internal/store/... ./internal/audit/... ./cmd/internal/dispatch ./internal/mcptools ./internal/httpcall ./internal/loader ./internal/install ./internal/retention ./cmd/internal/server ./client .

test-reset: ## nothing of one run is left for the next: under the race detector; then a reset that skips a page, a global or a table, which the tests notice (cgo; a minute)
	CGO_ENABLED=1 $(GO) test -race -timeout 10m ./internal/sandbox -run 'NothingIsLeft|PooledRunsAreAsFreshOnes|FuelIsAsItWas'
	$(GO) run ./internal/mutants/run -defences internal/mutants/defences.yaml -only 'with 8,000 runs at once'

test-cross-build: ## both commands build for the systems of test-cross (16 CPU seconds when the cache is warm)
	scripts/test-cross -build

test-cross: ## every package builds for windows/amd64, darwin/arm64 and linux/arm64, and is vetted, tests included
	scripts/test-cross

test-spec: ## the whole WebAssembly spec test suite, instrumented and not
	BELAY_SPEC=full $(GO) test -timeout 60m -run 'Spec|FuzzCases' -v ./internal/sandbox/...

test-bombs: ## measure what the engine takes to compile bombs, and each instruction, against our estimate
	BELAY_BOMBS=1 $(GO) test -timeout 60m -run Bomb -v ./internal/sandbox/...

test-prices: ## each instruction and each analysis beside plain code, by the closer bounds, which hold on the processors that the prices were measured on (AMD EPYC; a minute on an idle machine)
	BELAY_PRICES=1 $(GO) test -count=1 -timeout 10m -run 'TestPricesAreInProportion|TestHostcallsArePricedByTheirWork' -v ./internal/sandbox ./internal/sandbox/meter

test-plugins: ## the TypeScript plugins for agent runtimes: types, tests, and that the committed file is what they build to
	scripts/test-plugins

test-agents: ## the real agent clients (from npm) against belay, and the ways past it
	scripts/test-agents

test-system-agents: ## the same clients as another user on a machine in system mode: what held, and what did not (as root)
	@{ scripts/test-agents -system -v || echo FAILED; } | awk '/^ *(=== |--- PASS)/ { next } /^FAILED/ { bad = 1 } { print } END { exit bad }'

test-reconcile: ## a hundred undisturbed sessions of the real clients: how many false alarms do their logs give
	BELAY_SESSIONS=$${BELAY_SESSIONS:-100} scripts/test-agents -run 'TestReconcileMany$$' -v

test-mcp: ## tools of real MCP servers (from npm), over standard streams and HTTP on loopback; as root in system mode, too
	scripts/test-mcp

test-boot: ## a minimal Debian that the real systemd boots, put into system mode live: asked, killed, rebooted, upgraded, uninstalled (as root; makes the image once, 200 MB; 3 minutes)
	scripts/test-boot

test-installs: ## belay system install, upgrade and uninstall killed after each of their changes, and 200 times eight of them at once (as root; 5 minutes)
	BELAY_STOPS=all $(GO) test -count=1 -timeout 60m -v -run 'Killed|AtTheSameTime' ./internal/sysinstall

test-crash: ## 100,000 power cuts under the real SQLite engine (about 6 minutes on an idle machine)
	BELAY_CRASH_POINTS=100000 $(GO) test -timeout 120m -run TestCrashes -v ./internal/store/sqlite

test-approvals: ## 100,000 different proposals of one agent, and as many of one that passes for many; others are served
	BELAY_PROPOSALS=100000 $(GO) test -count=1 -timeout 60m -run TestQueueFlood -v ./kernel
	$(GO) test -count=1 -timeout 30m -run TestEvicted -v ./internal/queue -args -rapid.checks=20000

test-claims: ## a million claims of the same leases by 4 × 64 goroutines in 4 processes (about 1 minute on an idle machine)
	BELAY_CLAIMS=1000000 BELAY_CLAIM_PROCESSES=4 $(GO) test -count=1 -timeout 120m -run TestContendedClaims -v ./internal/store/sqlite

biglog: ## BIGLOG_EVENTS (default 1000000) realistic events in the new database BIGLOG_FILE, to look at queries and verify
	$(GO) run ./internal/store/sqlite/biglog -events $(BIGLOG_EVENTS) $(BIGLOG_FILE)

BIGLOG_EVENTS ?= 1000000

test-faults: ## the daemon killed 60 times under load, disks that fill up and fail, 20,000 crashes of a sink (about 5 minutes; any user)
	BELAY_KILLS=60 $(GO) test -count=1 -timeout 30m -v -run 'TestKilledUnderLoad|TestFullDisk' ./cmd/internal/cli
	$(GO) test -count=1 -timeout 30m -v -run TestDiskFails ./cmd/internal/server
	$(GO) test -count=1 -timeout 30m -run TestCrashes ./internal/sink -args -rapid.checks=20000

test-soak: ## a daemon under 48 callers meets faults in turn for SOAK_TIME (default 10m), then replay of 1,000,000 invocations with flat memory (about 6 minutes)
	BELAY_SOAK_TIME=$(SOAK_TIME) $(GO) test -count=1 -timeout 120m -run TestFaultsInTurn -v ./cmd/internal/cli
	BELAY_SOAK=1000000 $(GO) test -timeout 60m -run TestSoak -v ./internal/replay

SOAK_TIME   ?= 10m

MUTANTS     ?= 200
MUTANT_SEED ?= 1
GUARDED     := phases/...,kernel,hostcalls/...,internal/glob,internal/links,internal/paths,internal/shell,tiers/...,leases,internal/leasetable,internal/sandbox/...,internal/eventlog,internal/redact

test-mutants: ## switch each defence off and see its test fail; then MUTANTS small changes of GUARDED packages, of which 90 % have to be noticed
	$(GO) run ./internal/mutants/run -defences internal/mutants/defences.yaml -packages $(GUARDED) -n $(MUTANTS) -seed $(MUTANT_SEED)

fuzz: ## every fuzz target for FUZZTIME (default 30s) each
	FUZZTIME=$(FUZZTIME) scripts/fuzz

bench: ## belay against what people would use instead, in one run (a minute); writes its tables into docs/BENCHMARKS.md
	cd bench && CGO_ENABLED=$$(command -v gcc >/dev/null && echo 1 || echo 0) $(GO) run -trimpath . -write ../docs/BENCHMARKS.md

bench-soak: ## 48 callers ask a daemon with eight hooks about events of all phases for BENCH_SOAK_TIME (default 8m), with reloads; writes its table into docs/BENCHMARKS.md
	cd bench && CGO_ENABLED=0 $(GO) run -trimpath . -soak $(BENCH_SOAK_TIME) -write ../docs/BENCHMARKS.md

bench-system: ## how long one user of system mode waits while another one floods the daemon, for each kind of flood (as root; seven minutes)
	@BELAY_FLOOD_ROUNDS=3 CGO_ENABLED=0 $(GO) test -count=1 -v -timeout 20m -run TestFloodFigures ./cmd/internal/systemtest | sed '/^=== /d; /^ *--- PASS/d'

bench-events: ## commands about logs of BENCH_EVENTS events (default 1,000 to 1,000,000, six minutes); writes its table into docs/BENCHMARKS.md
	cd bench && CGO_ENABLED=0 $(GO) run -trimpath . -logs $(BENCH_EVENTS) -write ../docs/BENCHMARKS.md

profile: ## where belay's rows of make bench spend processor time and memory: profiles in PROFILES, tops printed
	cd bench && CGO_ENABLED=0 $(GO) run -trimpath . -profile $(PROFILES)

bench-packages: ## the benchmarks of each package, as ratios from one run
	BENCHTIME=$(BENCHTIME) scripts/bench

test-bench: ## what make bench compares judges as the policy says (downloads it)
	cd bench && $(GO) vet ./... && $(GO) test ./...

lint: $(LINT) ## golangci-lint with depguard, pinned
	$(LINT) run ./...

$(LINT):
	@mkdir -p $(BIN)
	GOBIN=$(abspath $(BIN)) $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_VERSION)

setup: ## the tools that the tests build hooks with (Debian packages, npm)
	@scripts/setup

man: ## man pages into MANDIR (default dist/man): try man -M dist/man belay; the date is that of the commit, or SOURCE_DATE_EPOCH
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)} $(GO) run ./cmd/internal/manpages -o $(MANDIR) -version '$(VERSION)'

MANDIR ?= dist/man

examples: setup ## rebuild the prebuilt example hooks and their lock
	scripts/build-examples

fmt: ## gofmt
	gofmt -l -w $$(git ls-files '*.go')

clean: ## remove what was built
	rm -rf $(BIN) dist
