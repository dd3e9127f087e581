package find

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/sendlimit/sendlimiter/internal/script"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/store"
)

// MaxPage is the maximum limit of a page.
const MaxPage = 1000

// MaxLooked is about how many entries and parts of the index a page reads.
const MaxLooked = 20_000

// Page is a part of the messages of a Filter.
type Page struct {
	// Messages are not sorted. There may be fewer than the limit, or none, although more follow.
	Messages []messages.Info
	// Next is the cursor of the next page, "" at the end. The next page may be empty.
	Next string
}

// Page returns the messages of a filter from a cursor on, Next of the previous page with the same
// filter; "" begins the first page. It has at most limit messages, 1 to MaxPage. A message that is
// known from the first page to the last is on exactly one of them.
//
// The error is an *InvalidError, ErrIndexOff, an *UnavailableError, or ErrReply for a record of a
// newer program.
func (x *Index) Page(ctx context.Context, f Filter, cursor string, limit int) (Page, error) {
	if err := f.Check(); err != nil {
		return Page{}, err
	}
	if limit < 1 || limit > MaxPage {
		return Page{}, &fault.InvalidError{Field: "limit", Value: strconv.Itoa(limit), Want: fmt.Sprintf("1 to %d", MaxPage)}
	}
	of := f.in(x.keys)
	if x.off && !of.byCampaign {
		return Page{}, ErrIndexOff
	}
	from, err := f.placeAt(cursor, of)
	if err != nil {
		return Page{}, err
	}
	w, page := newWalk(x.client, of, from), Page{}
	for {
		entries, err := w.next(ctx)
		if err != nil {
			return Page{}, err
		}
		last, err := x.fill(ctx, &page, f, of, entries, limit)
		switch {
		case err != nil:
			return Page{}, err
		case len(page.Messages) == limit:
			page.Next = f.cursorAt(last)
			return page, nil
		case w.ended():
			return page, nil
		case w.looked >= MaxLooked:
			page.Next = f.cursorAt(w.at)
			return page, nil
		}
	}
}

// The number of records that are read together.
const (
	fewestRecords = 32
	maxRecords    = 128
)

// fill adds matching messages of entries to a page until it has limit, and returns the place of the
// last entry that it read. It removes stale entries.
func (x *Index) fill(ctx context.Context, page *Page, f Filter, of lists, entries []entry, limit int) (last place, err error) {
	for size := min(max(limit-len(page.Messages), fewestRecords), maxRecords); len(entries) > 0; size = min(2*size, maxRecords) {
		some := entries[:min(size, len(entries))]
		entries = entries[len(some):]
		infos, err := x.read(ctx, f, some)
		if err != nil {
			return place{}, err
		}
		var gone []entry
		for i, e := range some {
			last = e.place
			switch s := infos[i]; {
			case e.twice:
				gone = append(gone, e)
			case s == nil:
			case s.State == messages.StateUnknown:
				gone = append(gone, e)
			case f.wants(*s):
				page.Messages = append(page.Messages, *s)
			}
			if len(page.Messages) == limit {
				break
			}
		}
		if _, err := x.forget(ctx, of, gone); err != nil {
			return place{}, err
		}
		if len(page.Messages) == limit {
			return last, nil
		}
	}
	return last, nil
}

// read reads the records of entries that may match, nil for the others.
func (x *Index) read(ctx context.Context, f Filter, entries []entry) ([]*messages.Info, error) {
	fields, records := messages.InfoFields(), make([]*redis.SliceCmd, len(entries))
	_, err := x.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, e := range entries {
			if f.mayWant(e) {
				records[i] = pipe.HMGet(ctx, x.keys.Record(e.user, e.id), fields...)
			}
		}
		return nil
	})
	if err != nil {
		return nil, store.Explain(err, finding)
	}
	infos := make([]*messages.Info, len(entries))
	for i, e := range entries {
		if records[i] == nil {
			continue
		}
		s, err := messages.InfoOf(e.user, e.id, script.ReadFields(fields, records[i].Val()), finding)
		if err != nil {
			return nil, err
		}
		infos[i] = &s
	}
	return infos, nil
}

const finding = "finding messages"
