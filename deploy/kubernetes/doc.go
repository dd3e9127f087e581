// Package kubernetes has the manifests for Kubernetes, and the tests that judge them. It must
// not know how the programs work: it asks package config which settings there are.
package kubernetes
