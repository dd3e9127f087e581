// Package reload reopens a channel when the file with its credentials changes.
//
// The file is read every few seconds and compared. This works with network file systems and with
// links, as Kubernetes mounts secrets; the operating system does not report their changes.
//
// If the channel can't be opened with the new content, the old one stays, and the error is reported
// once for each content. Running deliveries end with the old channel.
package reload
