package dashboard

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
)

// said is a sentence about the last change, shown on the next page.
type said struct {
	Failed bool   `json:"f,omitempty"`
	Text   string `json:"t"`
}

const (
	saidCookie = "sendlimit_said"
	// maxSaid bounds the text, since a cookie has at most 4 KiB.
	maxSaid = 1000
)

// say makes the next page of the browser show a sentence.
func (d *Dashboard) say(w http.ResponseWriter, r *http.Request, s said) {
	s.Text = clip(s.Text, maxSaid)
	text, _ := json.Marshal(s) // two fields can always be encoded
	http.SetCookie(w, &http.Cookie{
		Name: saidCookie, Value: base64.RawURLEncoding.EncodeToString(text), Path: d.o.BasePath + "/", HttpOnly: true,
		Secure: d.secure(r), SameSite: http.SameSiteStrictMode, MaxAge: 60,
	})
}

// takeSaid returns the sentence about the last change, once; nil without one.
func (d *Dashboard) takeSaid(w http.ResponseWriter, r *http.Request) *said {
	c, err := r.Cookie(saidCookie)
	if err != nil {
		return nil
	}
	http.SetCookie(w, &http.Cookie{Name: saidCookie, Path: d.o.BasePath + "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, MaxAge: -1})
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	var s said
	if err != nil || json.Unmarshal(text, &s) != nil || s.Text == "" {
		return nil
	}
	return &s
}

// clip returns at most most bytes of a text, whole characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// sentence returns a text that begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if c := text[0]; c >= 'a' && c <= 'z' && !startsWithName(text) {
		text = string(c-'a'+'A') + text[1:]
	}
	if !strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "?") && !strings.HasSuffix(text, "…") {
		text += "."
	}
	return text
}

// startsWithName reports whether a text starts with the name of a field, such as send_at, which
// keeps its spelling.
func startsWithName(text string) bool {
	first, _, _ := strings.Cut(text, " ")
	return strings.ContainsAny(first, "_.:/-")
}
