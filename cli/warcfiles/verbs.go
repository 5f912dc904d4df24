package warcfiles

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/output/archive"
)

// Verbs are the verbs of WARC files.
type Verbs struct {
	List    ListVerb    `cmd:"" help:"List the records of WARC files."`
	Extract ExtractVerb `cmd:"" help:"Write one record of a WARC file, as it was received."`
	Verify  VerifyVerb  `cmd:"" help:"Read WARC files to their end and compare all digests."`
}

// Help gives the examples of the verbs.
func (*Verbs) Help() string { return (*ListVerb)(nil).Help() }

// files are what a verb reads.
type files struct {
	Files   []string `arg:"" optional:"" name:"file" help:"WARC files, .warc, .warc.gz or .warc.zst, finished or open."`
	DataDir string   `name:"data-dir" group:"output" placeholder:"DIR" help:"The files of this node's data directory; the node may run."`
}

// paths lists the files. The error is one of usage.
func (f *files) paths() ([]string, error) {
	paths := f.Files
	if f.DataDir != "" {
		found, err := archive.Files(filepath.Join(f.DataDir, "warc"))
		if err != nil {
			return nil, fmt.Errorf("--data-dir: %w", err)
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 {
		return nil, errors.New(
			"no WARC file is given: name some, or a data directory that has some by --data-dir")
	}
	for _, p := range paths {
		if info, err := os.Stat(p); err != nil {
			return nil, err
		} else if info.IsDir() {
			return nil, fmt.Errorf(
				"%s is a folder: name the files in it, or the data directory above it by --data-dir", p)
		}
	}
	return paths, nil
}

// scan calls fn with each record. A damaged file is told, the others are read, and the exit code is
// that of an error.
func (f *files) scan(
	ctx context.Context,
	env *command.Env,
	fn func(path string, r *archive.Record) error,
) int {
	return f.scanBy(ctx, env, func(path string, fn func(archive.Record) error) error {
		_, err := archive.Scan(path, fn)
		return err
	}, fn)
}

// scanBy is scan by a function that reads a file.
func (f *files) scanBy(
	ctx context.Context,
	env *command.Env,
	read func(string, func(archive.Record) error) error,
	fn func(path string, r *archive.Record) error,
) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	paths, err := f.paths()
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	code := command.ExitOK
	for _, path := range paths {
		err := read(path, func(r archive.Record) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return fn(path, &r)
		})
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return env.Fail(command.ExitInterrupted, "interrupted")
		case errors.Is(err, errFound):
			return command.ExitOK
		}
		code = env.Fail(command.ExitError, "%v", err)
		if damage, ok := errors.AsType[*archive.DamageError](err); !ok || damage == nil {
			return code // it cannot be written, or the disk fails
		}
	}
	return code
}

// errFound ends a scan.
var errFound = errors.New("found")

// ListVerb lists records.
type ListVerb struct {
	files             `embed:""`
	command.Excluding `embed:""`
	Output            string `short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"text, or json: one object a line."`
}

// Help gives the examples of the verb.
func (*ListVerb) Help() string {
	return command.Examples("crawlnode warc list --data-dir crawlnode-data/n1",
		"crawlnode warc list -o json crawl.warc.gz | jq -r 'select(.status == 404) | .url'") + `

A line for each record: its place (offset and length of its member in the file),
type, HTTP status, media type and URL.`
}

// entry is a record as json shows it.
type entry struct {
	File      string `json:"file"`
	Offset    int64  `json:"offset"`
	Length    int64  `json:"length"`
	Type      string `json:"type"`
	Date      string `json:"date"`
	Status    int    `json:"status,omitempty"`
	MIME      string `json:"mime,omitempty"`
	URL       string `json:"url,omitempty"`
	Digest    string `json:"digest,omitempty"`
	Bytes     int64  `json:"bytes"` // of the payload
	Truncated string `json:"truncated,omitempty"`
}

// Run lists the records.
func (v *ListVerb) Run(ctx context.Context, env *command.Env) int {
	skip, err := v.Excluded()
	if err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	out := json.NewEncoder(env.Stdout)
	out.SetEscapeHTML(false)
	return v.scanBy(ctx, env, archive.ScanDigests, func(path string, r *archive.Record) error {
		if skip != nil && skip(r.TargetURI) {
			return nil
		}
		if v.Output == "json" {
			return out.Encode(entry{filepath.Base(path), r.Offset, r.Length, r.Type,
				r.Fields.Get("WARC-Date"), r.Status, r.ContentType, r.TargetURI,
				r.PayloadDigest, r.PayloadSize(), r.Truncated})
		}
		status := "-"
		if r.Status != 0 {
			status = fmt.Sprint(r.Status)
		}
		line := fmt.Sprintf("%12d %9d  %-8s  %3s  %-24s  %s", r.Offset, r.Length, r.Type, status,
			orDash(r.ContentType), orDash(r.TargetURI))
		_, err := fmt.Fprintln(env.Stdout, plaintext.Escape(line))
		return err
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// ExtractVerb writes one record.
type ExtractVerb struct {
	files   `embed:""`
	URL     string `group:"output" placeholder:"URL" help:"The first answer of this URL, in the form that warc list shows."`
	Offset  int64  `group:"output" placeholder:"N" default:"-1" help:"The record at this offset."`
	Headers bool   `group:"output" help:"The fields of the record and the head of the answer only."`
	Output  string `short:"o" group:"output" placeholder:"FILE" help:"The file to write. Default: standard output."`
}

// Help gives the examples of the verb.
func (*ExtractVerb) Help() string {
	return command.Examples("crawlnode warc extract crawl.warc.gz --offset 1024 > answer.http",
		"crawlnode warc extract --data-dir crawlnode-data/n1 --url https://docs.example.org/ -o "+
			"answer.http") + `

It writes the head of the answer and its body as they were received, with content
codings such as gzip; crawlnode cat shows the content of a URL without them.`
}

// Run writes the record.
func (v *ExtractVerb) Run(ctx context.Context, env *command.Env) int {
	if (v.URL == "") == (v.Offset < 0) {
		return env.Fail(command.ExitUsage, "which record? give either --url or --offset")
	}
	var found *archive.Record
	code := v.scan(ctx, env, func(_ string, r *archive.Record) error {
		if v.Offset >= 0 && r.Offset == v.Offset || v.URL != "" && r.TargetURI == v.URL &&
			(r.Type == "response" || r.Type == "resource" || r.Type == "revisit") {
			found = r
			return errFound
		}
		return nil
	})
	switch {
	case found == nil && code == command.ExitOK:
		return env.Fail(command.ExitError,
			"no file has such a record: crawlnode warc list shows what there is")
	case found == nil:
		return code
	}
	return v.write(env, found)
}

func (v *ExtractVerb) write(env *command.Env, r *archive.Record) int {
	out := env.Stdout
	if v.Output != "" && v.Output != "-" {
		f, err := os.Create(v.Output)
		if err != nil {
			return env.Fail(command.ExitError, "--output: %v", err)
		}
		defer func() { _ = f.Close() }() // what is not written is an error of Write
		out = f
	}
	if err := v.print(out, r); err != nil {
		return env.Fail(command.ExitError, "--output: %v", err)
	}
	return command.ExitOK
}

func (v *ExtractVerb) print(out io.Writer, r *archive.Record) error {
	if !v.Headers {
		_, err := out.Write(append(append([]byte{}, r.Head...), r.Payload...))
		return err
	}
	if err := writeFields(out, r.Fields); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\r\n%s", r.Head)
	return err
}
