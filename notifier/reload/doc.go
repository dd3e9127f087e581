// Package reload keeps a channel whose credentials are in a file up to date: when the file
// changes, the channel is opened again with its new content.
//
// The file is read every few seconds and compared. This also sees changes on network file
// systems, and files that are links to others, as Kubernetes mounts secrets; notifications of
// the operating system miss these.
//
// If the channel can't be opened with the new content, the former one stays, and the error is
// reported once for each content. Deliveries that run when the channel changes end with the
// former one.
package reload
