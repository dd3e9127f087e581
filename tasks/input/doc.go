// Package input reads messages from a file: NDJSON with one message a line, or CSV with a header. A
// Reader returns one Record for each message. An invalid line becomes a Record with an error, and
// reading continues after it. Memory does not grow with the file or with its longest line.
//
// Package input only reads drafts; package bulk judges them.
package input
