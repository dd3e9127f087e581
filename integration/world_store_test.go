package integration_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/redistest"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
	"github.com/sendlimit/sendlimiter/tasks/worldtest"
)

// worldStore is the store of a world.
type worldStore struct {
	servers   []*redistest.Server  // one, or the masters of a cluster, or a master with its replicas
	sentinels *redistest.Sentinels // nil for none
	addresses string
}

// viaSentinels begins the addresses of Sentinels.
const viaSentinels = "sentinels,"

func worldClient(addresses string) redis.UniversalClient {
	if all, ok := strings.CutPrefix(addresses, viaSentinels); ok {
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: redistest.MasterName, SentinelAddrs: strings.Split(all, ","), PoolSize: 64, ContextTimeoutEnabled: true, DialerRetries: 1,
			DialTimeout: worldIOTimeout, ReadTimeout: worldIOTimeout, WriteTimeout: worldIOTimeout,
		})
	}
	if all := strings.Split(addresses, ","); len(all) > 1 {
		client := redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: all, PoolSize: 64, ContextTimeoutEnabled: true, DialerRetries: 1,
			DialTimeout: worldIOTimeout, ReadTimeout: worldIOTimeout, WriteTimeout: worldIOTimeout,
		})
		store.WatchNodes(client)
		return client
	}
	return redis.NewClient(&redis.Options{
		Addr: addresses, PoolSize: 64, ContextTimeoutEnabled: true, DialerRetries: 1,
		DialTimeout: worldIOTimeout, ReadTimeout: worldIOTimeout, WriteTimeout: worldIOTimeout,
	})
}

// masters returns the servers that take writes.
func (w *realWorld) masters() []*redistest.Server {
	if w.sentinels == nil {
		return w.servers
	}
	address, err := w.sentinels.Current(w.Context())
	if err != nil {
		w.Error(err)
	}
	return slices.DeleteFunc(slices.Clone(w.servers), func(s *redistest.Server) bool { return s.Addr != address })
}

// storeAway lets all servers stand still, or kills and restarts them.
func (w *realWorld) storeAway(hangs bool, lasts time.Duration) {
	if hangs {
		w.signal(syscall.SIGSTOP, w.servers...)
		time.Sleep(lasts)
		w.signal(syscall.SIGCONT, w.servers...)
	} else {
		for _, server := range w.servers {
			server.Kill()
		}
		time.Sleep(lasts)
		for _, server := range w.servers {
			w.restart(server)
		}
	}
	for _, server := range w.servers[1:] { // masters of a cluster wait for each other
		w.await(func() bool { return complete(w.Context(), w.servers[0]) && complete(w.Context(), server) })
	}
}

func (w *realWorld) signal(signal syscall.Signal, servers ...*redistest.Server) {
	for _, server := range servers {
		if err := syscall.Kill(server.PID(), signal); err != nil {
			w.Error(err)
		}
	}
}

func (w *realWorld) restart(server *redistest.Server) {
	if err := server.Restart(w.Context()); err != nil {
		w.Error(err)
	}
}

// noFailover is how long a master may stand still without being replaced. Its replica may not have
// all that it took.
const noFailover = 10 * time.Minute

// failover takes no more writes at the master, waits until its replica has all, and then lets the
// master stand still or kills it. It returns once Sentinels have replaced it.
func (w *realWorld) failover(hangs bool) {
	master := w.masters()[0]
	if err := master.Client().Do(w.Context(), "CLIENT", "PAUSE", time.Minute.Milliseconds(), "WRITE").Err(); err != nil {
		w.Error(err)
	}
	w.await(func() bool { return isReplicated(w.Context(), master) })
	replaceAfter := func(silent time.Duration) {
		if err := w.sentinels.ReplaceAfter(w.Context(), silent); err != nil {
			w.Error(err)
		}
	}
	replaceAfter(time.Second)
	defer replaceAfter(noFailover)
	if hangs {
		w.signal(syscall.SIGSTOP, master)
	} else {
		master.Kill()
	}
	w.await(func() bool {
		agree, err := w.sentinels.Agree(w.Context()) // or some clients would come back to the old one
		return err == nil && agree && w.masters()[0].Addr != master.Addr
	})
	if hangs {
		w.signal(syscall.SIGCONT, master)
	} else {
		w.restart(master)
	}
}

var replicationOffsets = regexp.MustCompile(`(?s)slave0:[^\r]*,offset=(\d+),.*master_repl_offset:(\d+)\r`)

// isReplicated reports whether the replica of a master has all that the master has.
func isReplicated(ctx context.Context, master *redistest.Server) bool {
	info, err := master.Client().Info(ctx, "replication").Result()
	offsets := replicationOffsets.FindStringSubmatch(info)
	return err == nil && offsets != nil && offsets[1] == offsets[2]
}

// powerCut has a worker die at one of its calls while nobody else does anything, kills the server,
// and tears its log within what the last script wrote. So what is lost is what nobody was told. It
// restarts the server, and returns when the worker died; zero if it did not.
func (w *realWorld) powerCut() time.Time {
	victim := w.workers[w.upTo(len(w.workers))]
	victim.stayAway()
	defer victim.comeBack()
	life := victim.last()
	server := w.servers[0]
	for _, k := range slices.Concat(w.workers, w.callers) {
		if k == victim {
			continue
		}
		k.stayAway() // also one that has just ended: it would read what is torn then
		defer k.comeBack()
		if l := k.last(); l != nil {
			_ = l.command.Process.Signal(syscall.SIGSTOP) // fails if it has ended
			defer func() { _ = l.command.Process.Signal(syscall.SIGCONT) }()
			w.await(func() bool { return standsStill(l.command.Process.Pid) })
		}
	}
	for range 3 { // the server reads what it was asked before it reads a later command
		if err := server.Client().Ping(w.Context()).Err(); err != nil {
			w.Error(err)
		}
	}
	log, before := w.log(server)
	life.die(worldDeath{Pick: 1 + uint64(w.upTo(1<<30)), After: true})
	select {
	case <-life.ended:
	case <-time.After(2 * time.Second):
		life.die(worldDeath{After: true}) // at any call
		<-life.ended
	}
	server.Kill()
	if now, _ := w.log(server); now != log {
		log, before = now, 0 // it was written anew
	}
	written, err := os.ReadFile(log)
	if err != nil {
		w.Error(err)
	}
	if script := bytes.LastIndex(written[before:], []byte("*1\r\n$5\r\nMULTI\r\n")); script >= 0 && !w.wasTold(life.name, written[before+script:]) {
		begins := before + script
		if err := os.Truncate(log, int64(begins+1+w.upTo(len(written)-begins-1))); err != nil {
			w.Error(err)
		}
		w.Logf("the log is torn within the last %d bytes", len(written)-begins)
	}
	w.restart(server)
	return life.at
}

// standsStill reports whether no thread of a process runs, or none is left.
func standsStill(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return !slices.ContainsFunc(threads, func(file string) bool {
		stat, err := os.ReadFile(file)
		_, state, _ := strings.Cut(string(stat), ") ")
		return err == nil && !strings.ContainsAny(state[:1], "TZX")
	})
}

// wasTold reports whether a script's writes are the claim of a message that a worker has pushed since:
// it was told of that, although it died at another call that wrote nothing.
func (w *realWorld) wasTold(worker string, writes []byte) bool {
	if !bytes.Contains(writes, []byte("$1\r\no\r\n")) { // the nonce of a delivery
		return false
	}
	arrivals, _ := w.provider.got()
	return slices.ContainsFunc(arrivals, func(a worldtest.Arrival) bool { return a.Process == worker && bytes.Contains(writes, []byte(a.ID)) })
}

// log returns the append-only file that a server writes to, and how long it is. While the log is
// written anew, there are two.
func (w *realWorld) log(server *redistest.Server) (file string, length int) {
	files, err := filepath.Glob(filepath.Join(server.Folder(), "appendonlydir", "*.incr.aof"))
	if err != nil || len(files) == 0 {
		w.Errorf("append-only files: %v: %v", files, err)
		return "", 0
	}
	last := slices.MaxFunc(files, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	info, err := os.Stat(last)
	if err != nil {
		w.Error(err)
		return "", 0
	}
	return last, int(info.Size())
}

// complete reports whether a node of a cluster works as a part of it.
func complete(ctx context.Context, node *redistest.Server) bool {
	info, err := node.Client().ClusterInfo(ctx).Result()
	return err == nil && strings.Contains(info, "cluster_state:ok\r\n")
}

// loseQueue removes all of the queue's keys, as a hand or an eviction could.
func (w *realWorld) loseQueue() error {
	const all = `for _, key in ipairs(redis.call('KEYS', 'asynq:*')) do redis.call('UNLINK', key) end return 1`
	for _, server := range w.masters() {
		if err := server.Client().Eval(w.Context(), all, nil).Err(); err != nil {
			return err
		}
	}
	return nil
}

// keysLike lists the keys of all servers that match a pattern.
func (w *realWorld) keysLike(pattern string) ([]string, error) {
	var all []string
	for _, server := range w.masters() {
		keys, err := server.Client().Keys(w.Context(), pattern).Result()
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}
