# Without bench/peers/river: a driver of Postgres and a queue are much to fetch and build for one file.
MODULES := . $(patsubst %/go.mod,%,$(filter-out bench/peers/river/go.mod,$(wildcard bench/go.mod bench/peers/*/go.mod deploy/go.mod integration/go.mod)))

# As "make build" builds, so that both use the same packages of Go's build cache.
GO_LINT := CGO_ENABLED=0 GOFLAGS=-trimpath go

.DEFAULT_GOAL := help

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## Build the programs into bin/
	CGO_ENABLED=0 go build -trimpath -o bin/ ./cmd/sendlimit ./cmd/sendlimit-worker

.PHONY: man
man: ## Write the manual pages of the programs into bin/man
	go run ./cmd/sendlimit-worker man bin/man
	go run ./cmd/sendlimit man bin/man

.PHONY: clients
clients: ## Write the generated files of the Go, TypeScript and Python clients
	@tools/install-packages.sh
	SENDLIMIT_WRITE_CLIENTS=1 go test -C integration -count=1 -run '^TestClientsAreGenerated$$' .

.PHONY: quick
quick: ## Run the short tests; unchanged packages come from Go's cache
	@tools/install-packages.sh
	CGO_ENABLED=0 GOFLAGS=-trimpath go test -short -vet=off -ldflags=-w ./...
	CGO_ENABLED=0 GOFLAGS=-trimpath go test -C integration -short -vet=off -ldflags=-w ./...

.PHONY: test
test: ## Run all tests, those of things side by side also with the race detector; SEED=n tries the same again
	@tools/install-packages.sh
	@tools/test.sh $(if $(SEED),-seed $(SEED))

.PHONY: race
race: ## Run the short tests of all packages with the race detector
	@tools/install-packages.sh
	GOFLAGS=-trimpath go test -race -short -ldflags=-w -vet=off ./...
	GOFLAGS=-trimpath go test -C integration -race -short -ldflags=-w -vet=off ./...

.PHONY: screenshots
screenshots: ## Go through the dashboard with a browser, and take the screenshots of the README and the docs
	@tools/install-packages.sh
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_WRITE_SCREENSHOTS="$(CURDIR)/dashboard/screenshots" \
	  go test -C integration -count=1 -run '^TestTheDashboardInABrowser$$' .

.PHONY: soak
soak: ## Run for hours: 10,000 worlds, 300 worlds of processes, 2,000 histories a model, 300,000 calls of the API, a hostile account
	@tools/install-packages.sh
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_TEST_API_SOAK=300000 \
	  go test -C integration -count=1 -run '^TestAPISoak$$' .
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_TEST_HOSTILE=5m \
	  go test -C integration -count=1 -timeout 1h -run '^TestAHostileAccount$$' .
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_TEST_STORY_ROUNDS=101 \
	  go test -C integration -count=1 -timeout 4h -parallel 6 -run '^TestAWorld' .
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_TEST_HISTORY_ROUNDS=300 SENDLIMIT_TEST_ALL_TRAFFIC=1 \
	  go test -C integration -count=1 -timeout 4h -run '^(TestHistoriesOn|TestEnqueueProcess)' .
	SENDLIMIT_TEST_STORY_ROUNDS=10000 go test -count=1 -timeout 24h -run '^TestWorldsKeepEveryPromise$$' ./tasks/worldtest
	SENDLIMIT_TEST_STORY_ROUNDS=100 go test -count=1 -timeout 4h \
	  -run '^TestANoticeIsToldOnceAfterAnOutageOfALease$$' \
	  ./tasks ./records/messages
	RAPID_CHECKS=2000 SENDLIMIT_TEST_STORY_ROUNDS=100 go test -count=1 -timeout 4h \
	  ./sendlimit/... ./records/...

.PHONY: collector
collector: ## Build a real OpenTelemetry collector, which takes minutes, and send traces to it
	@tools/install-packages.sh
	CGO_ENABLED=0 GOFLAGS=-trimpath go build -C integration/testdata/collector -o "$(CURDIR)/bin/collector" .
	SENDLIMIT_REQUIRE_REDIS=1 SENDLIMIT_TEST_COLLECTOR="$(CURDIR)/bin/collector" \
	  go test -C integration -count=1 -run '^TestARealCollectorGetsTheTraces$$' .

.PHONY: compatible
compatible: ## Run the histories on the servers in SERVERS, and write the table of docs/redis.md
	@tools/install-packages.sh
	tools/compatible.sh $(SERVERS)

.PHONY: cover
cover: ## Run the tests and show how much of each function they cover
	@mkdir -p bin
	go test -coverpkg=./... -coverprofile=bin/cover.out ./...
	go tool cover -func=bin/cover.out

.PHONY: lint
lint: lint-go lint-lua lint-shell tidy-check compose-check deploy-check ## Run all the checks that follow

# Without the commit in it, the program stays the same, and so does what go vet keeps of it.
bin/lint: FORCE
	@$(GO_LINT) build -C tools -buildvcs=false -o ../bin/lint ./lint

.PHONY: FORCE
FORCE:

.PHONY: lint-go
lint-go: bin/lint ## Check the Go code and its formatting
	$(GO_LINT) test -C tools -vet=off ./lint
	@for module in $(MODULES) tools; do \
	  echo "go vet -vettool=bin/lint, module $$module"; \
	  $(GO_LINT) vet -C "$$module" -vettool="$(CURDIR)/bin/lint" ./... || exit; \
	done

.PHONY: lint-lua
lint-lua: ## Check the Lua scripts, with luacheck if it is installed
	tools/lint-lua.sh

.PHONY: lint-shell
lint-shell: ## Check the shell scripts, with shellcheck if it is installed
	@if command -v shellcheck >/dev/null; then \
	  echo "shellcheck"; \
	  shellcheck .ci/run tools/*.sh; \
	else \
	  echo "No shellcheck: the shell scripts are not checked"; \
	fi

.PHONY: tidy-check
tidy-check: ## Check that every go.mod lists what its module needs, and no more
	@for module in $(MODULES) tools; do \
	  echo "go mod tidy -diff, module $$module"; \
	  (cd "$$module" && go mod tidy -diff) || exit; \
	done

.PHONY: compose-check
compose-check: ## Check docker-compose.yml, if docker compose is installed
	@if docker compose version >/dev/null 2>&1; then \
	  echo "docker compose config"; \
	  docker compose config --quiet; \
	else \
	  echo "No docker compose: docker-compose.yml is not checked"; \
	fi

.PHONY: deploy-check
deploy-check: ## Check what is in deploy: manifests, dashboard, alert rules, the systemd unit
	tools/check-deploy.sh

.PHONY: fmt
fmt: bin/lint ## Format the Go code
	@bin/lint fmt .

.PHONY: bench
bench: ## Measure against peers on a real Redis and print the table
	@tools/install-packages.sh
	cd bench && go run .

.PHONY: bench-peers
bench-peers: ## Measure sendlimit beside queues with limiters of one's own, and write bench/peers/README.md
	@tools/install-packages.sh postgresql
	cd bench/peers && go run .

.PHONY: vulnerabilities
vulnerabilities: ## Look for known vulnerabilities in what the programs call
	tools/vulnerabilities.sh

.PHONY: release-check
release-check: ## Make a release in dist without publishing it, and check it; builds goreleaser from source
	tools/release-check.sh

.PHONY: demo
demo: ## Show a worker, 2,000 submits with their refusals, and a few deliveries
	tools/demo.sh

.PHONY: clean
clean: ## Remove what was built
	rm -rf bin dist integration/testdata/openapi/node_modules integration/testdata/dashboard/node_modules clients/typescript/node_modules clients/typescript/dist
