package story

import (
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
)

// KeysOf returns the keys of a timeline with these options.
func KeysOf(o sendlimit.Options) keyspace.Keys {
	keys, err := keyspace.NewKeys(o.Prefix)
	if err != nil {
		panic(err) // the test is wrong
	}
	return keys
}
