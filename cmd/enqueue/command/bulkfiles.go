package command

import (
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/sendlimit/sendlimiter/cmd/internal/cli"
	"github.com/sendlimit/sendlimiter/sendlimit/fault"
	"github.com/sendlimit/sendlimiter/tasks/input"
)

// standard is the name of standard input and output among files.
const standard = "-"

// fileFlags name the file to read, and the file for the outcomes of its lines.
type fileFlags struct {
	file, format, results string
	force                 bool // unzip however large the text is
	columns               []string
	others                string
	placeholders, empty   bool
}

func (f *fileFlags) register(flags *pflag.FlagSet, others string) {
	flags.StringVar(&f.format, "format", string(input.Auto), "`format` of the file: ndjson, csv, or auto to tell by its content")
	flags.StringVar(&f.results, "results", "", "`file` to write each line's outcome to as JSON, in the order of the lines;"+
		` with "-" for standard output, the summary goes to standard error`)
	flags.BoolVar(&f.force, "force", false, "unzip a gzipped file however large the text is")
	flags.StringArrayVar(&f.columns, "column", nil, "`field=column` for a column of CSV with another name, such as user=external_id; repeatable")
	flags.StringVar(&f.others, "other-columns", string(input.RefuseColumns), others)
	flags.BoolVar(&f.placeholders, "allow-placeholders", false, "accept users such as null, #N/A and {{user.id}}")
	flags.BoolVar(&f.empty, "allow-empty", false, "accept a file without lines")
	cli.Words(flags, "format", string(input.Auto), string(input.NDJSON), string(input.CSV))
}

// options returns how the file is read. The error is a *fault.InvalidError for a flag.
func (f *fileFlags) options() (o input.Options, err error) {
	o = input.Options{Placeholders: f.placeholders, AllowEmpty: f.empty, Flags: true}
	if o.Format, err = input.ParseFormat(f.format); err != nil {
		return o, err
	}
	if o.Columns, err = input.ParseColumns(f.columns); err != nil {
		return o, err
	}
	o.Others, err = input.ParseOtherColumns(f.others)
	return o, fault.InField(err, "other-columns")
}

// messageFile is a file that is read.
type messageFile struct {
	io.ReadCloser

	info fs.FileInfo // nil if it is not a file
	read func(n int) // called with the number of bytes of each read
}

// Read implements io.Reader and calls read.
func (f *messageFile) Read(b []byte) (int, error) {
	n, err := f.ReadCloser.Read(b)
	if f.read != nil {
		f.read(n)
	}
	return n, err
}

// size returns the size of the input in bytes, 0 if it is unknown.
func (f *messageFile) size() int64 {
	if f.info == nil || !f.info.Mode().IsRegular() {
		return 0
	}
	return f.info.Size()
}

// openInput opens the file with the messages. The error is a *fault.InvalidError.
func (p *program) openInput(name string) (*messageFile, error) {
	if name == standard {
		return &messageFile{ReadCloser: io.NopCloser(p.Stdin)}, nil
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, badFile("file", name, err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a folder")
	}
	if err != nil {
		_ = file.Close() // nothing was read
		return nil, badFile("file", name, err)
	}
	return &messageFile{ReadCloser: file, info: info}, nil
}

// openResults opens the file for the outcomes, nil for none. The file keeps its content until there
// are outcomes. Without any outcome, a new file is removed again. The error is a
// *fault.InvalidError.
func (p *program) openResults(name string, messages *messageFile) (results, error) {
	switch name {
	case "":
		return nil, nil
	case standard:
		return keptOpen{p.Stdout}, nil
	}
	if info, err := os.Stat(name); err == nil && messages.info != nil && os.SameFile(info, messages.info) {
		return nil, badFile("results", name, errors.New("it is the input file: choose another one"))
	}
	const opened, mode = os.O_WRONLY | os.O_CREATE, 0o600
	file, err := os.OpenFile(name, opened|os.O_EXCL, mode)
	if err == nil {
		return &resultsFile{File: file, unused: true}, nil
	}
	if errors.Is(err, fs.ErrExist) {
		file, err = os.OpenFile(name, opened, mode)
	}
	if err != nil {
		return nil, badFile("results", name, err)
	}
	return &resultsFile{File: file}, nil
}

// results is the file for the outcomes.
type results interface {
	io.WriteCloser

	empty() error // removes the outcomes of an earlier run
}

// resultsFile is a file with outcomes.
type resultsFile struct {
	*os.File

	unused bool // it is new and has no outcomes yet
}

// Close closes the file, and removes it if it is unused.
func (f *resultsFile) Close() error {
	err := f.File.Close()
	if f.unused {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// empty does not truncate a pipe or another file without a length.
func (f *resultsFile) empty() error {
	f.unused = false
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = f.Truncate(0)
	}
	return err
}

// badFile returns the error for an unusable file.
func badFile(field, name string, err error) error {
	if _, named := errors.AsType[*fs.PathError](err); named {
		return fault.Wrong(field, "%v", err)
	}
	return fault.Wrong(field, "%s: %v", name, err)
}

// keptOpen is a writer that Close does not close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

func (keptOpen) empty() error { return nil }
