FROM golang:1.26.8-alpine AS build
# The version that the programs tell, such as v1.2.3.
ARG VERSION=
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath \
    -ldflags="-s -w -X github.com/sendlimit/sendlimiter/cmd/internal/cli.stamped=${VERSION}" \
    -o /out/ ./cmd/sendlimit-worker ./cmd/sendlimit

# The image has the programs, the certificates of authorities, and no shell.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/ /usr/bin/
USER 65532:65532
ENTRYPOINT ["/usr/bin/sendlimit-worker"]
