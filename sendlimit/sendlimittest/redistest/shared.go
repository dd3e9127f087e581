package redistest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
)

// databases is how many tests can have a database of the shared server at a time.
const databases = 256

// shared has the servers that the tests of a program share.
var shared struct { //nolint:globals // starting a server for each test takes most of a short test's time
	sync.Mutex

	server  *Server
	cluster *Cluster
	taken   [databases]bool
}

var prefixes atomic.Int64 //nolint:globals // counts the calls of Prefix

// Database is a test's own database of a redis-server that other tests use too. A test must not
// kill, stop or configure the server, or flush its scripts: use Real for that.
type Database struct {
	server *Server
	number int
	client *redis.Client
}

// Shared returns an empty database of a server that the tests of a program share. Without a
// redis-server in PATH it acts like NeedServer.
func Shared(tb testing.TB) *Database {
	tb.Helper()
	NeedServer(tb)
	d, err := takeDatabase(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	closeAfter(tb, d)
	return d
}

// SharedCluster returns a cluster of three masters that the tests of a program share. A test
// calls Prefix for its keys.
func SharedCluster(tb testing.TB) *Cluster {
	tb.Helper()
	NeedServer(tb)
	shared.Lock()
	defer shared.Unlock()
	if shared.cluster == nil {
		cluster, err := StartCluster(tb.Context())
		if err != nil {
			tb.Fatal(err)
		}
		shared.cluster = cluster
	}
	return shared.cluster
}

// CloseShared ends the servers that tests have shared. TestMain calls it.
func CloseShared() error {
	shared.Lock()
	defer shared.Unlock()
	var errs []error
	if shared.server != nil {
		errs = append(errs, shared.server.Close())
	}
	if shared.cluster != nil {
		errs = append(errs, shared.cluster.Close())
	}
	return errors.Join(errs...)
}

func takeDatabase(ctx context.Context) (*Database, error) {
	shared.Lock()
	defer shared.Unlock()
	if shared.server == nil {
		server, err := Start(ctx, Options{Args: []string{"--databases", strconv.Itoa(databases)}})
		if err != nil {
			return nil, err
		}
		shared.server = server
	}
	for number, taken := range shared.taken {
		if !taken {
			shared.taken[number] = true
			d := &Database{server: shared.server, number: number}
			d.client = redis.NewClient(d.Options())
			return d, nil
		}
	}
	return nil, fmt.Errorf("all %d databases of the shared redis are taken", databases)
}

// Client returns a client of the database, which ends with the test.
func (d *Database) Client() *redis.Client { return d.client }

// Options returns the options of a further client of the database.
func (d *Database) Options() *redis.Options {
	o := d.server.clientOptions()
	o.DB = d.number
	return o
}

// URL returns the database in the form that redis.ParseURL reads.
func (d *Database) URL() string { return d.server.URL() + "/" + strconv.Itoa(d.number) }

// Close empties the database for another test.
func (d *Database) Close() error {
	err := d.client.FlushDBAsync(context.Background()).Err()
	err = errors.Join(err, d.client.Close())
	if err != nil {
		return fmt.Errorf("give back a database of the shared redis: %w", err)
	}
	shared.Lock()
	defer shared.Unlock()
	shared.taken[d.number] = false
	return nil
}

// Prefix returns a prefix for the keys of a test on the shared cluster. No other test of the
// program has it.
func Prefix(tb testing.TB) string {
	tb.Helper()
	return "test" + strconv.FormatInt(prefixes.Add(1), 10)
}
