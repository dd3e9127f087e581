// Package store connects the programs to Redis, checks it before they start, and offers
// the embedded store for trying out.
//
// Open only reads the URL; nothing is sent before the first command. Inspect is that first
// command: it turns common problems (nothing listening, a missing password, a replica, an
// old server, one that evicts keys) into a sentence that says what to do. AddressOf tells
// which URLs lead to one store.
package store
