// Testrun runs the tests of all modules, from the root of the project, and prints their processor
// time, which hardly depends on the load of the machine. No result comes from a cache, but a test
// program that has not changed is not linked again: the programs stay in bin/tests.
//
//	testrun [-seed n] [-norace] [PART...]
//
// Without names of parts it runs all of parts.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
)

func main() {
	seed := flag.Uint64("seed", 0, "the seed of the run; 0 draws one")
	norace := flag.Bool("norace", false, "leave out what runs under the race detector")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *seed == 0 {
		*seed = 1 + rand.Uint64N(1<<30)
	}
	chosen := slices.DeleteFunc(parts(), func(p part) bool {
		return (*norace && p.race != nil) || (flag.NArg() > 0 && !slices.Contains(flag.Args(), p.name))
	})
	r := newReport(os.Stdout)
	runAll(ctx, r, chosen, *seed)
	if !r.end() {
		stop()
		os.Exit(1)
	}
}

// runAll builds one part after the other, while programs that are built run: one more at a time than
// there are processors, and beside them the programs that mostly wait.
func runAll(ctx context.Context, r *report, chosen []part, seed uint64) {
	r.print("seed %d: make test SEED=%d tries the same again", seed, seed)
	test2json, err := goTool(ctx, "tool", "-n", "test2json")
	if err != nil {
		r.fail("test2json", err.Error())
		return
	}
	programs := make(chan program, 1000) // built ahead of those that run
	var all sync.WaitGroup
	run := func(p program) {
		if ctx.Err() == nil {
			r.ended(p, p.run(ctx, strings.TrimSpace(test2json), seed, r))
		}
	}
	for range runtime.NumCPU() + 1 { // some wait now and then
		all.Go(func() {
			for p := range programs {
				run(p)
			}
		})
	}
	for _, p := range chosen {
		err := p.build(ctx, r, func(built program) {
			if p.waits {
				all.Go(func() { run(built) })
			} else {
				programs <- built
			}
		})
		if err != nil { // the other parts still run
			r.fail(p.name, err.Error())
		}
	}
	close(programs)
	all.Wait()
	if ctx.Err() != nil {
		r.fail("testrun", fmt.Sprint(context.Cause(ctx)))
	}
}
