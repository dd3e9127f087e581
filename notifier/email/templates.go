package email

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	htmltemplate "html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	texttemplate "text/template"

	"github.com/sendlimit/sendlimiter/notifier"
)

//go:embed templates/*.tmpl
var embedded embed.FS

// The endings of the file names of a kind's three templates.
const (
	subjectEnd = ".subject.tmpl"
	textEnd    = ".txt.tmpl"
	htmlEnd    = ".html.tmpl"
	// frame has the beginning and the end of the HTML templates: {{template "top" .}} and
	// {{template "bottom" .}}.
	frame = "frame" + htmlEnd
)

// Templates render notices. Each kind has three: KIND.subject.tmpl and KIND.txt.tmpl for
// text/template, KIND.html.tmpl for html/template. Their data is a View. The function number writes
// 10000 as 10,000.
type Templates struct {
	subjects, texts map[notifier.NoticeKind]*texttemplate.Template
	pages           map[notifier.NoticeKind]*htmltemplate.Template
}

// Content is a rendered notice.
type Content struct {
	Subject string // on one line
	Text    string
	HTML    string
}

// LoadTemplates returns the embedded templates. A file in folder replaces the one of the same name;
// "" means no folder. It renders a sample with each template. The error is a *notifier.InvalidError
// with file and line.
func LoadTemplates(folder string) (*Templates, error) {
	t := &Templates{
		subjects: make(map[notifier.NoticeKind]*texttemplate.Template),
		texts:    make(map[notifier.NoticeKind]*texttemplate.Template),
		pages:    make(map[notifier.NoticeKind]*htmltemplate.Template),
	}
	if err := strangers(folder); err != nil {
		return nil, err
	}
	around, err := source(folder, frame)
	if err != nil {
		return nil, err
	}
	for _, kind := range notifier.NoticeKinds() {
		if t.subjects[kind], err = parseText(folder, string(kind)+subjectEnd); err != nil {
			return nil, err
		}
		if t.texts[kind], err = parseText(folder, string(kind)+textEnd); err != nil {
			return nil, err
		}
		if t.pages[kind], err = parseHTML(folder, string(kind)+htmlEnd, around); err != nil {
			return nil, err
		}
		if err := t.try(kind); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// try finds errors that appear only when a template is rendered: an unknown field, or HTML that
// can't be escaped.
func (t *Templates) try(kind notifier.NoticeKind) error {
	sample, _ := Sample(kind, "")
	content, err := t.Render(sample)
	if err != nil {
		return unusable(err)
	}
	if content.Subject == "" {
		return unusable(fmt.Errorf("template: %s: it gives no text", t.subjects[kind].Name()))
	}
	return nil
}

// Render renders a notice. The error names the template and the line, and shows nothing of the
// notice.
func (t *Templates) Render(n notifier.Notice) (Content, error) {
	subject, known := t.subjects[n.Kind]
	if !known {
		return Content{}, fmt.Errorf("no template for notices of the kind %q", n.Kind)
	}
	view := newView(n)
	text, err := execute(subject, view)
	if err != nil {
		return Content{}, err
	}
	// A subject is one line, even if its template or a name has several lines.
	view.Title = strings.Join(strings.Fields(oneLine(text)), " ")
	content := Content{Subject: view.Title}
	if content.Text, err = execute(t.texts[n.Kind], view); err != nil {
		return Content{}, err
	}
	if content.HTML, err = execute(t.pages[n.Kind], view); err != nil {
		return Content{}, err
	}
	return content, nil
}

type executor interface {
	Execute(into io.Writer, data any) error
}

func execute(t executor, view View) (string, error) {
	var text bytes.Buffer
	if err := t.Execute(&text, view); err != nil {
		return "", fmt.Errorf("filling in a template: %w", err)
	}
	return text.String(), nil
}

func parseText(folder, name string) (*texttemplate.Template, error) {
	from, err := source(folder, name)
	if err != nil {
		return nil, err
	}
	t, err := texttemplate.New(from.name).Funcs(texttemplate.FuncMap{"number": number, "signed": signed}).Parse(from.text)
	if err != nil {
		return nil, unusable(err)
	}
	return t, nil
}

func parseHTML(folder, name string, around templateSource) (*htmltemplate.Template, error) {
	from, err := source(folder, name)
	if err != nil {
		return nil, err
	}
	t, err := htmltemplate.New(around.name).Funcs(htmltemplate.FuncMap{"number": number, "signed": signed}).Parse(around.text)
	if err == nil {
		t, err = t.New(from.name).Parse(from.text)
	}
	if err != nil {
		return nil, unusable(err)
	}
	return t, nil
}

// templateSource is the text of a template. Errors show its name, that of the file.
type templateSource struct{ name, text string }

func source(folder, name string) (templateSource, error) {
	if folder != "" {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path)
		if err == nil {
			return templateSource{path, string(text)}, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return templateSource{}, unusable(err)
		}
	}
	text, err := embedded.ReadFile("templates/" + name)
	if err != nil {
		return templateSource{}, fmt.Errorf("reading an embedded template: %w", err)
	}
	return templateSource{name, string(text)}, nil
}

// strangers refuses a path that is not a folder, and a folder with an unknown template, whose name
// is probably misspelled.
func strangers(folder string) error {
	if folder == "" {
		return nil
	}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return unusable(err)
	}
	known := []string{frame}
	for _, kind := range notifier.NoticeKinds() {
		known = append(known, string(kind)+subjectEnd, string(kind)+textEnd, string(kind)+htmlEnd)
	}
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".tmpl") && !slices.Contains(known, name) {
			return &notifier.InvalidError{
				Field: "email_templates", Value: filepath.Join(folder, name),
				Want: "templates of these names: " + strings.Join(known, ", "),
			}
		}
	}
	return nil
}

// unusable returns the error for a bad template. Errors of the template packages begin with name
// and line.
func unusable(err error) error {
	detail := strings.TrimPrefix(err.Error(), "filling in a template: ")
	detail = strings.TrimPrefix(detail, "html/template:")
	return &notifier.InvalidError{
		Field: "email_templates", Value: strings.TrimPrefix(detail, "template: "),
		Want: "a folder with templates that can be used",
	}
}
