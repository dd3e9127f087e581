// Package seal encrypts texts that callers carry without reading them, such as a cursor: the end of
// a page may be another account's message.
//
// A sealed text is encrypted and authenticated (AES-256-GCM) with a key in the store, generated
// once, so that every process opens it. Sealing is deterministic, so that an answer with a sealed
// text does not change. If the key is deleted from the store, all sealed texts end within a minute.
//
// The package does not interpret the texts.
package seal
