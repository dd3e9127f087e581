// Package generate writes the parts of the clients that follow from the OpenAPI document: a
// method for each operation, in Go, TypeScript and Python, and the types of requests and
// answers. Those in Go are the types of package message, which the API uses too, and those in
// TypeScript are written by openapi-typescript, which reads the schemas that Schemas returns.
//
// It knows nothing of the API but the document, and the names of its schemas in Go. What it
// can't express is an error, so that no operation and no parameter is left out silently.
//
// "make clients" writes the files. A test of package api compares them with the present
// document.
package generate
