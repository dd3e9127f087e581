// Command asynq is two sides of the comparison: the queue asynq with a limiter in front of it, as a team
// builds it. Its argument names the limiter: redis_rate or zset.
package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/sendlimit/sendlimiter/bench/peers/side"
)

func main() {
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	limit, ok := limiters()[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "asynq: limiter %q, not redis_rate or zset\n", name)
		os.Exit(2)
	}
	os.Exit(side.Main(&queue{newLimiter: limit}))
}

// versions returns the modules that this side stands on.
func versions() string {
	build, _ := debug.ReadBuildInfo()
	var all []string
	for _, module := range build.Deps {
		switch module.Path {
		case "github.com/go-redis/redis_rate/v10", "github.com/hibiken/asynq", "github.com/redis/go-redis/v9":
			all = append(all, strings.TrimPrefix(module.Path, "github.com/")+" "+module.Version)
		}
	}
	return strings.Join(all, ", ")
}
