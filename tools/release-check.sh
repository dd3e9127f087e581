#!/usr/bin/env bash
# Builds a release in dist as for a tag, but publishes and signs nothing and builds no image. Then it
# checks the first steps of a user. It builds goreleaser and cyclonedx-gomod from source, which takes
# minutes the first time.
set -euo pipefail
cd "$(dirname "$0")/.."

goreleaser=github.com/goreleaser/goreleaser/v2@v2.15.1
cyclonedx=github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PATH="$folder:$PATH"
for program in "$goreleaser" "$cyclonedx"; do
  GOBIN=$folder CGO_ENABLED=0 go install "$program"
done

goreleaser check
goreleaser release --snapshot --clean --skip=docker,sign

cd dist
sha256sum --check --quiet checksums.txt
version=$(sed -n 's/.*"version":"\([^"]*\)".*/\1/p' metadata.json)
archive=(*"_$(go env GOOS)_$(go env GOARCH).tar.gz")
tar -xzf "${archive[0]}" -C "$folder"
for program in sendlimit-worker sendlimit; do
  printf '%s: ' "$program"
  "$folder/$program" --version
  "$folder/$program" --version | grep -qF "v$version"
  for platform in linux_amd64 linux_arm64 darwin_amd64 darwin_arm64 windows_amd64; do
    bill=("$program"*"_${version}_$platform.cdx.json")
    grep -q '"bomFormat": *"CycloneDX"' "${bill[0]}" || {
      echo "No bill of materials of $program for $platform" >&2
      exit 1
    }
  done
done
echo "The release in dist is as it should be: $(grep -c . checksums.txt) files with checksums"
