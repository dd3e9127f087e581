// Package docs writes the reference of the API, a page that is made of the OpenAPI document.
//
// The page is our own, and not one of the known viewers of OpenAPI documents: they need
// inline styles, which the page's Content-Security-Policy refuses, and megabytes of script.
// This one has a few kilobytes of style and script, and shows everything without the script.
//
//   - Page renders docs.html. Style and Script are the files that it loads, each under an
//     address that changes with its content.
//   - view.go brings the document into the form that the page shows, bounds.go says what a
//     value may be, and prose.go reads the little Markdown that descriptions use.
//   - example.go writes a curl command for each operation.
//
// Tests and links rely on the ids: an operation has its operationId, a webhook
// "webhook-" and its name, a schema "schema-" and its name, a problem "problem-" and its
// code, a tag "tag-" and its name.
package docs
