package traffic_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sendlimit/sendlimiter/sendlimit"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/sendlimit/policy"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest"
	"github.com/sendlimit/sendlimiter/sendlimit/sendlimittest/traffic"
)

// outcomes counts the decisions: accepted, or the first rule broken.
func outcomes(t *testing.T, trace traffic.Trace) map[string]int {
	t.Helper()
	decisions, err := sendlimittest.Judge(trace, policy.Default(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), policy.DefaultReach)
	require.NoError(t, err)
	require.Len(t, decisions, len(trace.Sends))
	count := make(map[string]int)
	for _, d := range decisions {
		if d.Allowed {
			count["accepted"]++
		} else {
			require.Equal(t, fault.CodeSendLimit, d.Code)
			count[d.Violations[0].Rule.String()]++
		}
	}
	return count
}

func TestRealTrafficUnderTheDefaultPolicy(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	trace, err := traffic.Load(0)
	require.NoError(t, err)
	if !trace.Real {
		t.Skip("the real traffic is not here")
	}
	require.Equal(t, map[string]int{
		"accepted": 42_514, "1/minute": 37_684, "5/hour": 1_241, "10/calendar_day": 520,
	}, outcomes(t, trace))
}

func TestGeneratedTrafficIsOfTheSameShape(t *testing.T) {
	sendlimittest.Long(t)
	t.Parallel()
	const lines = 81_959
	trace := traffic.Trace{Sends: traffic.Generate(traffic.DefaultSeed, lines)}
	require.Len(t, trace.Sends, lines)

	last := make(map[string]time.Duration)
	backwards := 0
	for _, send := range trace.Sends {
		require.GreaterOrEqual(t, send.Offset, time.Duration(0))
		require.Less(t, send.Offset, 365*24*time.Hour)
		require.Zero(t, send.Offset%time.Second)
		if send.Offset < last[send.User] {
			backwards++
		}
		last[send.User] = send.Offset
	}
	require.InEpsilon(t, 4680, len(last), 0.2, "users")
	require.InDelta(t, 0.06, float64(backwards)/lines, 0.02, "share of sends earlier than the one before")

	count := outcomes(t, trace)
	require.InDelta(t, 0.52, float64(count["accepted"])/lines, 0.03)
	require.InDelta(t, 0.46, float64(count["1/minute"])/lines, 0.03)
	require.InDelta(t, 0.015, float64(count["5/hour"])/lines, 0.01)
	require.InDelta(t, 0.006, float64(count["10/calendar_day"])/lines, 0.004)
}

func TestGeneratedTrafficRepeats(t *testing.T) {
	t.Parallel()
	sends := traffic.Generate(7, 2000)
	require.Len(t, sends, 2000)
	require.Equal(t, sends, traffic.Generate(7, 2000))
	require.NotEqual(t, sends, traffic.Generate(8, 2000))
	require.Empty(t, traffic.Generate(7, 0))
}

func TestRequestsHaveIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	trace := traffic.Trace{Sends: []traffic.Send{{User: "u1", Offset: time.Hour}, {User: "u1"}}}
	start := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	require.Equal(t, sendlimit.Request{User: "u1", ID: "line-1", At: start.Add(time.Hour)}, trace.Request(0, start))
	require.Equal(t, sendlimit.Request{User: "u1", ID: "line-2", At: start}, trace.Request(1, start))
}

func TestRealTrafficReads(t *testing.T) {
	t.Parallel()
	sends, err := traffic.Read(trafficFile(t, "user,offset_s\nu1,60\nu2,0\n"))
	require.NoError(t, err)
	require.Equal(t, []traffic.Send{{User: "u1", Offset: time.Minute}, {User: "u2"}}, sends)

	for wrong, why := range map[string]string{
		"":                             "header: EOF",
		"name,when\nu1,60\n":           "header is \"name,when\", not user,offset_s",
		"user,offset_s\nu1,60\nu2\n":   "line: record on line 3: wrong number of fields",
		"user,offset_s\nu1,tomorrow":   "line 2: offset: strconv.ParseInt: parsing \"tomorrow\": invalid syntax",
		"user,offset_s\nu1,9999999999": "line 2: offset: strconv.ParseInt: parsing \"9999999999\": value out of range",
	} {
		_, err := traffic.Read(trafficFile(t, wrong))
		require.ErrorContains(t, err, why)
	}
	_, err = traffic.Read(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLoadTrafficFromTheEnvironment(t *testing.T) {
	t.Setenv(traffic.PathEnv, trafficFile(t, "user,offset_s\nu1,60\nu2,0\n"))
	trace, err := traffic.Load(1)
	require.NoError(t, err)
	require.True(t, trace.Real)
	require.Equal(t, "real traffic, 1 lines of sends.csv.gz", trace.Source)
	require.Equal(t, []traffic.Send{{User: "u1", Offset: time.Minute}}, trace.Sends)

	trace, err = traffic.Load(0)
	require.NoError(t, err)
	require.Len(t, trace.Sends, 2)

	t.Setenv(traffic.PathEnv, filepath.Join(t.TempDir(), "absent"))
	_, err = traffic.Load(1)
	require.ErrorIs(t, err, os.ErrNotExist, "what is named has to be there")
}

// The real traffic is beside the module. A module within it, such as the benchmarks,
// looks beside the outer one.
func TestLoadTrafficLooksBesideTheModule(t *testing.T) {
	t.Setenv(traffic.PathEnv, "")
	top := t.TempDir()
	inner := filepath.Join(top, "clone", "bench")
	write(t, filepath.Join(top, "clone", "go.mod"), "module github.com/sendlimit/sendlimiter\n\ngo 1.26\n")
	write(t, filepath.Join(inner, "go.mod"), "module github.com/sendlimit/sendlimiter/bench\n")
	t.Chdir(inner)

	trace, err := traffic.Load(100)
	require.NoError(t, err)
	require.False(t, trace.Real)
	require.Equal(t, "generated traffic, 100 lines, seed 1", trace.Source)
	require.Equal(t, traffic.Generate(traffic.DefaultSeed, 100), trace.Sends)

	content, err := os.ReadFile(trafficFile(t, "user,offset_s\nu1,60\n"))
	require.NoError(t, err)
	write(t, filepath.Join(top, "shared", "data", "sends.csv.gz"), string(content))
	trace, err = traffic.Load(100)
	require.NoError(t, err)
	require.True(t, trace.Real)
	require.Len(t, trace.Sends, 1)
}

func trafficFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sends.csv.gz")
	file, err := os.Create(path)
	require.NoError(t, err)
	zipped := gzip.NewWriter(file)
	_, err = zipped.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, zipped.Close())
	require.NoError(t, file.Close())
	return path
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}
