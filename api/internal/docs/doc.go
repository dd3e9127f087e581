// Package docs writes the reference of the API, a page generated from the OpenAPI document.
//
// Common viewers of OpenAPI documents need inline styles, which the page's Content-Security-Policy
// refuses, and megabytes of script. This page has a few kilobytes of style and script, and shows
// everything without the script.
//
//   - Page renders docs.html. Style and Script are the files that it loads. Their addresses change
//     with their contents.
//   - view.go converts the document to the form that the page shows, bounds.go describes the
//     allowed values, and prose.go reads the Markdown subset that descriptions use.
//   - example.go writes a curl command for each operation.
//
// Tests and links rely on the ids: an operation has its operationId, a webhook
// "webhook-" and its name, a schema "schema-" and its name, a problem "problem-" and its
// code, a tag "tag-" and its name.
package docs
