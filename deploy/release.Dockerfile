# The image of a release: programs that are built already. See goreleaser.yaml; Dockerfile
# builds them from source.
FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/sendlimit-worker $TARGETPLATFORM/sendlimit /usr/bin/
USER 65532:65532
ENTRYPOINT ["/usr/bin/sendlimit-worker"]
