// Package store connects the programs to Redis, looks before they start
// whether it is fit for them, and offers the embedded store for trying out.
//
// Open only reads the URL; nothing is sent before the first command. Inspect
// is that first command: it turns what people run into (nothing listening, a
// password missing, a replica, an old server, one that evicts keys) into a
// sentence that says what to do.
package store
