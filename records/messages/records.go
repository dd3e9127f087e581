package messages

import (
	"cmp"
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// Records reads the state of messages. It is safe for concurrent use.
type Records struct {
	client redis.Cmdable
	keys   keyspace.Keys
}

// NewRecords returns the records of a store.
func NewRecords(client redis.Cmdable, keys keyspace.Keys) *Records {
	return &Records{client: client, keys: keys}
}

// Look returns the states of a user's messages, in the order of the ids. A message without a record
// has StateUnknown. It takes one round trip. The error is an *InvalidError, an *UnavailableError,
// or ErrReply for a record of a newer program.
func (r *Records) Look(ctx context.Context, user string, ids ...string) ([]Info, error) {
	return readEach(ctx, r, "looking at messages", InfoFields(), InfoOf, user, ids)
}

// Trace is Look with the histories.
func (r *Records) Trace(ctx context.Context, user string, ids ...string) ([]Info, error) {
	return readEach(ctx, r, "reading histories of messages", append(InfoFields(), historyFields()...), tracedOf, user, ids)
}

// Timer returns the current generation of a pending message, and when it is due. It reports false
// if the message is not pending. Its errors are those of Look.
func (r *Records) Timer(ctx context.Context, user, id string) (sendlimit.Timer, bool, error) {
	const doing = "looking at the task of a message"
	fields := []string{
		keyspace.RecordState, keyspace.RecordGeneration, keyspace.RecordSendAt, keyspace.RecordNotBefore,
		keyspace.RecordCharge, keyspace.RecordCampaign,
	}
	records, err := r.read(ctx, doing, fields, user, []string{id})
	if err != nil {
		return sendlimit.Timer{}, false, err
	}
	record := records[0]
	q := sendlimit.Timer{User: user, ID: id, Generation: record.Text(keyspace.RecordGeneration), Due: record.Time(keyspace.RecordNotBefore)}
	q.Origin.Account, _, _ = parseCharge(record.Text(keyspace.RecordCharge))
	q.Origin.Campaign = record.Text(keyspace.RecordCampaign)
	if q.Due.IsZero() {
		q.Due = record.Time(keyspace.RecordSendAt)
	}
	return q, stateOf(record) == StatePending, record.Err(doing)
}

// Expiry returns the end of a message's deliveries: its own expiry, or else expireAfter its
// promised time; zero without a record. Its errors are those of Look.
func (r *Records) Expiry(ctx context.Context, user, id string, expireAfter time.Duration) (time.Time, error) {
	const doing = "looking at the expiry of a message"
	fields := []string{keyspace.RecordExpiresAt, keyspace.RecordPromised, keyspace.RecordSendAt}
	records, err := r.read(ctx, doing, fields, user, []string{id})
	if err != nil {
		return time.Time{}, err
	}
	expires, promised := records[0].Time(fields[0]), cmp.Or(records[0].Time(fields[1]), records[0].Time(fields[2]))
	if expires.IsZero() && !promised.IsZero() {
		expires = promised.Add(expireAfter)
	}
	return expires, records[0].Err(doing)
}

// tracedOf reads the InfoFields and historyFields of a record.
func tracedOf(user, id string, record *script.Fields, doing string) (Info, error) {
	info, err := InfoOf(user, id, record, doing)
	if err != nil {
		return info, err
	}
	info.History = historyOf(info, record)
	return info, record.Err(doing)
}

// readEach reads and parses fields of the records of a user's messages, in the order of the ids.
func readEach[T any](
	ctx context.Context, r *Records, doing string, fields []string,
	parse func(user, id string, record *script.Fields, doing string) (T, error), user string, ids []string,
) ([]T, error) {
	records, err := r.read(ctx, doing, fields, user, ids)
	if err != nil {
		return nil, err
	}
	found := make([]T, len(ids))
	for i, id := range ids {
		if found[i], err = parse(user, id, records[i], doing); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Stored is a message with its content.
type Stored struct {
	Info

	Content []byte // as in Record; nil after it was erased
}

// Read is Trace with the contents.
func (r *Records) Read(ctx context.Context, user string, ids ...string) ([]Stored, error) {
	return readEach(ctx, r, "reading messages", StoredFields(), StoredOf, user, ids)
}

// Versioned reads a message with its content for an Edit of this Version.
func (r *Records) Versioned(ctx context.Context, user, id string) (Stored, sendlimit.Version, error) {
	type versioned struct {
		Stored

		of sendlimit.Version
	}
	parse := func(user, id string, record *script.Fields, doing string) (versioned, error) {
		stored, err := StoredOf(user, id, record, doing)
		return versioned{stored, sendlimit.Version{
			Generation: record.Text(keyspace.RecordGeneration), Changes: int(record.Int(keyspace.RecordChanges)),
		}}, err
	}
	found, err := readEach(ctx, r, "reading a message to change", StoredFields(), parse, user, []string{id})
	if err != nil {
		return Stored{}, sendlimit.Version{}, err
	}
	return found[0].Stored, found[0].of, nil
}

// StoredFields lists the fields of a record that StoredOf reads.
func StoredFields() []string {
	return append(append(InfoFields(), historyFields()...), keyspace.ContentFields()...)
}

// StoredOf reads the StoredFields of a record.
func StoredOf(user, id string, record *script.Fields, doing string) (Stored, error) {
	info, err := tracedOf(user, id, record, doing)
	return Stored{Info: info, Content: keyspace.JoinContent(record.Lookup)}, err
}

// read reads fields of the records of a user's messages, in the order of the ids.
func (r *Records) read(ctx context.Context, doing string, fields []string, user string, ids []string) ([]*script.Fields, error) {
	if err := keyspace.CheckUser(user); err != nil {
		return nil, err
	}
	for _, id := range ids {
		if err := keyspace.CheckID(id); err != nil {
			return nil, err
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	found := make([]*redis.SliceCmd, len(ids))
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, id := range ids {
			found[i] = pipe.HMGet(ctx, r.keys.Record(user, id), fields...)
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, doing)
	}
	records := make([]*script.Fields, len(ids))
	for i := range ids {
		records[i] = script.ReadFields(fields, found[i].Val())
	}
	return records, nil
}
