package tasks_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/message"
	"github.com/sendlimit/sendlimiter/records/messages"
	"github.com/sendlimit/sendlimiter/records/settings"
	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/calendar"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/keyspace"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	stories "github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/story"
	"github.com/sendlimit/sendlimiter/tasks/input"
	"github.com/sendlimit/sendlimiter/tasks/refit"
	"github.com/sendlimit/sendlimiter/tasks/submit"
	"github.com/sendlimit/sendlimiter/tasks/taskstest"
)

// peopleEnv is the number of people of a campaign; the default is 50.
const peopleEnv = "SENDLIMIT_TEST_PEOPLE"

// campaignZones are time zones of 30 places, some with offsets of half hours, or beyond 12 hours.
const campaignZones = `Africa/Cairo Africa/Lagos Africa/Nairobi America/Argentina/Buenos_Aires
	America/Bogota America/Chicago America/Denver America/Halifax America/Los_Angeles America/Mexico_City
	America/New_York America/Sao_Paulo America/St_Johns Asia/Dubai Asia/Kathmandu Asia/Kolkata Asia/Seoul
	Asia/Shanghai Asia/Singapore Asia/Tehran Asia/Tokyo Australia/Adelaide Australia/Sydney Europe/Berlin
	Europe/London Europe/Madrid Pacific/Apia Pacific/Auckland Pacific/Honolulu Pacific/Kiritimati`

// marketing is a week of a campaign: a file asks for half an hour from 9:00 on, by everybody's clock,
// on days of the week, of which nobody gets more than two messages.
type marketing struct {
	*story

	random  *rand.Rand
	refits  *refit.Refitter
	people  map[string][]setting            // by user, in order
	places  map[string]map[string]time.Time // as accepted, by user and id
	changed map[string]bool                 // users whose settings changed meanwhile
}

// setting is a user's settings since a time.
type setting struct {
	since time.Time
	own   policy.UserSettings
}

// asked is a line of the file.
type asked struct {
	user, id string
	day      int // of the month
}

// A campaign for people in 30 zones, who travel, switch marketing off and are not to be disturbed
// meanwhile, from the file to the arrival: everything arrives as it was asked for, and nothing that its
// user does not want.
func TestAWeekOfACampaign(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	people := 50
	if text := os.Getenv(peopleEnv); text != "" {
		var err error
		people, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	for _, seed := range sendlimittest.Seeds(t, 2) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &marketing{
					story: newStory(t, seldom()), random: rand.New(rand.NewPCG(seed, 45)),
					people: make(map[string][]setting), places: make(map[string]map[string]time.Time), changed: make(map[string]bool),
				}
				m.play(people)
			})
		})
	}
}

func (m *marketing) play(people int) {
	m.Helper()
	p := m.policyOf("1/minute", "2/calendar_day")
	p.UserTimeZone = true
	require.NoError(m, settings.NewPolicies(m.client, keyspace.KeysUnder("")).Apply(m.Context(), p))
	var err error
	m.refits, err = refit.New(taskstest.Open(m, m.newClient(), m.shared), refit.Options{})
	require.NoError(m, err)
	m.Cleanup(func() { require.NoError(m, m.refits.Close()) })
	m.Submitter = m.newSubmitter(submit.Options{})
	for n := range people {
		m.meet(fmt.Sprintf("user-%d", n))
	}
	m.submitFile()
	changes := make(map[time.Duration]string)
	for user := range m.people {
		if m.random.IntN(2) == 0 {
			changes[time.Duration(m.random.Int64N(int64(7*24*time.Hour))).Truncate(time.Second)] = user
		}
	}
	for _, at := range slices.Sorted(maps.Keys(changes)) {
		m.workWhereDue(at)
		m.change(changes[at])
	}
	m.workWhereDue(10 * 24 * time.Hour)
	m.judgeArrivals()
}

// meet draws the settings of a user.
func (m *marketing) meet(user string) {
	own := policy.UserSettings{TimeZone: m.drawZone()}
	switch m.random.IntN(5) {
	case 0:
		own.QuietHours = stories.QuietHours(m, "22:00-09:10")
	case 1:
		own.QuietHours = stories.QuietHours(m, "08:00-10:00")
	case 2:
		own.QuietHours = stories.QuietHours(m, "09:20-12:00")
	}
	m.sets(user, own)
}

func (m *marketing) drawZone() string {
	zones := strings.Fields(campaignZones)
	return zones[m.random.IntN(len(zones))]
}

func (m *marketing) sets(user string, own policy.UserSettings) {
	stored := m.setsFor(user, own)
	m.people[user] = append(m.people[user], setting{time.Now(), stored})
	if stored.Then != "" {
		done, err := m.refits.Follow(m.Context(), user, stored)
		require.NoError(m, err)
		require.True(m, done.Complete)
	}
}

// change has a user travel, switch marketing off, or not be disturbed for up to two days.
func (m *marketing) change(user string) {
	own := m.people[user][len(m.people[user])-1].own
	own.Then = policy.ThenShift
	switch m.random.IntN(3) {
	case 0:
		own.TimeZone = m.drawZone()
	case 1:
		own.OptOut = []string{"marketing"}
	case 2:
		own.DoNotDisturbUntil = time.Now().Add(time.Duration(1+m.random.IntN(48)) * time.Hour).UTC()
	}
	m.changed[user] = true
	m.sets(user, own)
}

// submitFile submits a file with three messages for a day and one for another, for each user.
func (m *marketing) submitFile() {
	m.Helper()
	var file strings.Builder
	file.WriteString("user,id,title,category,time_zone,window.from,window.until,window.prefer\n")
	lines := make(map[string][]asked)
	for _, user := range slices.Sorted(maps.Keys(m.people)) {
		day := 3 + m.random.IntN(5)
		other := 3 + (day-3+1+m.random.IntN(4))%5
		for i, on := range []int{day, other, day, day} {
			line := asked{user, fmt.Sprintf("m%d", i), on}
			lines[user] = append(lines[user], line)
			fmt.Fprintf(&file, "%s,%s,Sale,marketing,user,2000-01-%02d 09:00,2000-01-%02d 09:30,spread\n", user, line.id, on, on)
		}
	}
	records, err := input.NewReader(strings.NewReader(file.String()), input.Options{})
	require.NoError(m, err)
	byUser := make(map[string][]message.Message)
	for {
		r, err := records.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(m, err)
		require.Nil(m, r.Invalid)
		one, err := r.Draft.Message(message.ParseTime)
		require.NoError(m, err)
		byUser[one.User] = append(byUser[one.User], one)
	}
	for user, all := range byUser {
		outcomes, err := m.SubmitMany(m.Context(), all)
		require.NoError(m, err)
		m.judgeOutcomes(lines[user], outcomes)
	}
}

// judgeOutcomes requires that two messages of a day have free times in the half hour, if it is not
// quiet as a whole, and that a third is refused.
func (m *marketing) judgeOutcomes(lines []asked, outcomes []message.Outcome) {
	m.Helper()
	user := lines[0].user
	own := m.people[user][0].own
	zone := zoneOf(m, own)
	m.places[user] = make(map[string]time.Time)
	onDay := make(map[int]int)
	for i, o := range outcomes {
		from := time.Date(2000, 1, lines[i].day, 9, 0, 0, 0, zone)
		var code fault.Code
		quiet := own.QuietHours.Contains(from)
		if full := onDay[lines[i].day] == 2; full && !quiet {
			code = fault.CodeSendLimit
		} else if full || quiet && own.QuietHours.Contains(from.Add(29*time.Minute)) {
			code = fault.CodeQuietHours // which the window begins with
		}
		require.Equal(m, code, o.Code, "%s of %s: %+v", lines[i].id, user, o)
		if code != "" {
			continue
		}
		onDay[lines[i].day]++
		require.False(m, o.SendAt.Before(from) || !o.SendAt.Before(from.Add(30*time.Minute)), "%s is not in the half hour from %s on", o.SendAt, from)
		require.False(m, own.QuietHours.Contains(o.SendAt.In(zone)), "%s of %s is in quiet hours", o.SendAt, user)
		m.places[user][lines[i].id] = o.SendAt.Time
	}
}

func zoneOf(t require.TestingT, own policy.UserSettings) *time.Location {
	zone, err := calendar.ParseTimeZone(own.TimeZone)
	require.NoError(t, err)
	return zone
}

// settingsAt is the settings of a user at a time.
func (m *marketing) settingsAt(user string, at time.Time) policy.UserSettings {
	all := m.people[user]
	i := len(all) - 1
	for all[i].since.After(at) {
		i--
	}
	return all[i].own
}

// judgeArrivals requires that each arrival is right by its user's settings of that time, and that what
// did not arrive was dropped for a reason that they give.
func (m *marketing) judgeArrivals() {
	m.Helper()
	arrived := make(map[string]map[string]time.Time)
	for user := range m.people {
		arrived[user] = make(map[string]time.Time)
	}
	for _, d := range m.recorder.Deliveries() {
		user, id, at := d.Notification.User, d.Notification.ID, d.At
		own := m.settingsAt(user, at)
		zone := zoneOf(m, own)
		require.NotContains(m, arrived[user], id, "%s twice", user)
		sameDay := 0
		for _, other := range arrived[user] {
			if other.In(zone).Format(time.DateOnly) == at.In(zone).Format(time.DateOnly) {
				sameDay++
			}
		}
		wrong := sameDay >= 2 || own.OptOut != nil || at.Before(own.DoNotDisturbUntil) || own.QuietHours.Contains(d.Notification.SendAt.In(zone))
		require.False(m, wrong, "%s of %s arrived at %s, of %d others that day, with %+v", id, user, at.In(zone), sameDay, own)
		if !m.changed[user] { // else the gate may hold it, and send it as a late one
			require.Equal(m, m.places[user][id].UTC(), d.Notification.SendAt.UTC(), "%s of %s", id, user)
			require.Less(m, at.Sub(d.Notification.SendAt), sendlimit.DefaultTolerance+time.Second) // the gate's, and the way
		}
		arrived[user][id] = at
	}
	moved, dropped := 0, 0
	for user, places := range m.places {
		for id, place := range places {
			at, ok := arrived[user][id]
			if ok {
				if at.Sub(place) > time.Second {
					moved++
				}
				continue
			}
			dropped++
			status, found, err := m.Status(m.Context(), user, id)
			require.NoError(m, err)
			require.True(m, found)
			last := m.people[user][len(m.people[user])-1].own
			reason := status.History[len(status.History)-1].Reason
			want := []string{messages.ReasonNoFreeTime}
			if last.OptOut != nil {
				want = []string{messages.ReasonOptedOut}
			}
			require.True(m, m.changed[user] && status.Status == "dropped" && slices.Contains(want, reason), "%s of %s, with %+v: %+v", id, user, last, status)
		}
	}
	all := len(m.recorder.Deliveries())
	m.Logf("%d people: %d messages arrived, %d of them at another time than accepted, and %d were dropped", len(m.people), all, moved, dropped)
	require.NotZero(m, moved+dropped)
}
