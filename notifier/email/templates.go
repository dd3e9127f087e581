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

// The three templates of a kind, by the end of their files' names.
const (
	subjectEnd = ".subject.tmpl"
	textEnd    = ".txt.tmpl"
	htmlEnd    = ".html.tmpl"
	// frame has what the embedded HTML templates begin and end with, for others
	// to use too: {{template "top" .}} and {{template "bottom" .}}.
	frame = "frame" + htmlEnd
)

// Templates make a notice's subject and bodies. A kind has three: KIND.subject.tmpl
// and KIND.txt.tmpl in the language of text/template, KIND.html.tmpl in that of
// html/template. They are given a View, and have one function of their own,
// number, which writes 10000 as 10,000.
type Templates struct {
	subjects, texts map[notifier.NoticeKind]*texttemplate.Template
	pages           map[notifier.NoticeKind]*htmltemplate.Template
}

// Content is a notice in words.
type Content struct {
	Subject string // on one line
	Text    string
	HTML    string
}

// LoadTemplates returns the embedded templates, each replaced by the file of its
// name in folder where there is one; "" is no folder. Every template is tried
// with a sample. The error is a *notifier.InvalidError that names the file and
// the line.
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

// try finds what only shows when a template is used: a field that does not
// exist, HTML that can't be escaped.
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

// Render puts a notice into words. The error names the template and the line,
// and nothing of the notice.
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
	// A subject that was spread over lines in its file, or comes from a name, is
	// one line all the same.
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
	t, err := texttemplate.New(from.name).Funcs(texttemplate.FuncMap{"number": number}).Parse(from.text)
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
	t, err := htmltemplate.New(around.name).Funcs(htmltemplate.FuncMap{"number": number}).Parse(around.text)
	if err == nil {
		t, err = t.New(from.name).Parse(from.text)
	}
	if err != nil {
		return nil, unusable(err)
	}
	return t, nil
}

// templateSource is a template before it is parsed; its name is the file's, and
// stands in errors.
type templateSource struct{ name, text string }

func source(folder, name string) (templateSource, error) {
	if folder != "" {
		path := filepath.Join(folder, name)
		text, err := os.ReadFile(path) //nolint:gosec // the operator's own folder
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

// strangers refuses a folder that is none, and templates in it whose name means
// nothing: they would be passed over, most likely for a typing error.
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

// unusable says which template is wrong, where, and why: the errors of the
// template packages begin with the name and the line.
func unusable(err error) error {
	detail := strings.TrimPrefix(err.Error(), "filling in a template: ")
	detail = strings.TrimPrefix(detail, "html/template:")
	return &notifier.InvalidError{
		Field: "email_templates", Value: strings.TrimPrefix(detail, "template: "),
		Want: "a folder with templates that can be used",
	}
}
