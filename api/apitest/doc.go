// Package apitest opens the parts of the API on a store, for tests of the API and its callers.
package apitest
