package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLossesAreNamed(t *testing.T) {
	t.Parallel()
	r := results{Sides: []sideResult{{Name: "sendlimit"}, {Name: "river"}}}
	r.Sides[0].Submits.PerSecond, r.Sides[1].Submits.PerSecond = series{100, 300, 200}, series{400}
	r.Sides[0].Bytes, r.Sides[1].Bytes = series{700}, series{900}
	var b strings.Builder
	r.writeLosses(&b)
	require.Contains(t, b.String(), "- **submits a second**: River + a table of sends 400 against 200 /s. Why: ")
	require.NotContains(t, b.String(), "bytes a pending message")
}

func TestTheSmallTableIsReplaced(t *testing.T) {
	t.Parallel()
	text, err := replaceSmall("before\n"+smallHead+"| --- |\n| old |\n\nafter\n", "| new |\n")
	require.NoError(t, err)
	require.Equal(t, "before\n| new |\n\nafter\n", text)
	_, err = replaceSmall("before\n", "| new |\n")
	require.ErrorContains(t, err, "there is no table")
}

func TestPlot(t *testing.T) {
	t.Parallel()
	svg := plot("a < b", "/s", []bar{{label: "ours & theirs", value: 12_345, low: 12_000, high: 24_690, ours: true}, {label: "none"}})
	decoder := xml.NewDecoder(strings.NewReader(svg))
	var texts []string
	bars := 0
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.CharData:
			if text := strings.TrimSpace(string(token)); text != "" {
				texts = append(texts, text)
			}
		case xml.StartElement:
			if token.Name.Local == "rect" {
				bars++
			}
		}
	}
	require.Equal(t, []string{"a < b", "a < b", "ours & theirs", "12,345 /s", "none", "0 /s"}, texts)
	require.Equal(t, 3, bars, "with the background")
	require.Contains(t, svg, `width="200.0"`, "half of the longest")
}

func TestNumber(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{
		0: "0", 3: "3", 1.25: "1.2", -1.5: "-1.5", 42.4: "42", 999.6: "1,000", -1234: "-1,234", -123.4: "-123", 1234567: "1,234,567",
	} {
		require.Equal(t, want, number(v))
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	_, err := choose("river,postgres")
	require.ErrorContains(t, err, `-only "postgres" is no side; there are sendlimit, sendlimit-api`)
	chosen, err := choose("river")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
}
