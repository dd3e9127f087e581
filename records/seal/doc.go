// Package seal makes texts that callers carry without reading them, such as where a page of a list
// ended: the next page begins there, and the place may be another account's message.
//
// A sealed text is encrypted and authenticated (AES-256-GCM) with a key that the store has, made
// once, so that every process of the store opens it. The same text is sealed alike each time, so
// that an answer which has it stays the same. Who makes the store forget the key ends all sealed
// texts within a minute.
//
// The package does not know what it seals.
package seal
