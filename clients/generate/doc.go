// Package generate writes the parts of the clients that are derived from the OpenAPI document: a
// method for each operation, in Go, TypeScript and Python, and the types of requests and answers.
// The Go types are those of package message, which the API uses too. openapi-typescript writes the
// TypeScript types from the schemas that Schemas returns.
//
// It knows only the document, and the Go names of its schemas. A part that it can't express is an
// error, so no operation or parameter is left out silently.
//
// "make clients" writes the files. A test of package api compares them with the present
// document.
package generate
