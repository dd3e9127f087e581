package redistest

import (
	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
)

// OpenEmbedded starts a miniredis for an example and returns a client of it and
// a function that ends both. Programs connect to a Redis from 7.0 on instead:
// redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}).
func OpenEmbedded() (client *redis.Client, end func()) {
	server, err := miniredis.Run()
	if err != nil {
		panic(err)
	}
	client = redis.NewClient(&redis.Options{Addr: server.Addr()})
	return client, func() {
		_ = client.Close()
		server.Close()
	}
}
