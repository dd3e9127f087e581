# The image of a release: programs that are built already. See goreleaser.yaml; Dockerfile
# builds them from source.
FROM golang:1.26.8-alpine AS certificates

FROM scratch
ARG TARGETPLATFORM
COPY --from=certificates /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY $TARGETPLATFORM/sendlimit-worker $TARGETPLATFORM/sendlimit /usr/bin/
USER 65532:65532
ENTRYPOINT ["/usr/bin/sendlimit-worker"]
