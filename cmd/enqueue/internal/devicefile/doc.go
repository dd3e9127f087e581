// Package devicefile reads files of devices, as NDJSON or CSV, and registers what they have.
//
// A file may be longer than the memory: Import reads a thousand lines at a time. The lines of
// a user are registered in their order. No error shows a token or a subscription.
package devicefile
