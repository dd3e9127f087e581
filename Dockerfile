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
FROM scratch
ARG VERSION=
ARG REVISION=
LABEL org.opencontainers.image.source=https://github.com/sendlimit/sendlimiter \
      org.opencontainers.image.version=${VERSION} \
      org.opencontainers.image.revision=${REVISION} \
      org.opencontainers.image.licenses=MIT
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/ /usr/bin/
USER 65532:65532
ENTRYPOINT ["/usr/bin/sendlimit-worker"]
