// Package backend opens a store for the parts of a program: its policies, its queue
// and the options that all parts share.
//
//	b, err := backend.Open(client, backend.Options{Options: sendlimit.Options{Prefix: "orders"}})
//	submitter, err := submit.New(b, submit.Options{})
//	worker, err := tasks.NewWorker(b, tasks.WorkerOptions{Notifier: channel})
//
// A program opens one Backend for each store. Its parts share the policies, the prefix, the reach and
// how long records are kept. Open makes no call to the store. Each part estimates the store's clock
// itself: a slow submit must not change when a worker delivers.
package backend
