package readback

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"crawlnode/output/archive"
)

// Rewritten is what Rewrite has done.
type Rewritten struct {
	Files     int64
	Captures  int64 // that were copied
	LeftOut   int64 // captures
	Completed int64 // of those that were copied, revisits that have become responses
}

// Rewrite writes the WARC files to a folder anew, with an index of each, without the records of
// captures that are left out, and of what belongs to them. All others are copied byte for byte, but
// for a revisit of a payload that was stored with such a capture: it becomes a response that has
// the payload.
func (a *Archives) Rewrite(ctx context.Context, to string,
	omit *Omit) (Rewritten, error) {
	w := rewriting{src: a, omit: omit, to: to, names: map[string]bool{}}
	err := w.all(ctx, a.Folders)
	return w.Rewritten, err
}

// rewriting is a run of Rewrite.
type rewriting struct {
	Rewritten
	src   Source
	omit  *Omit
	to    string
	gone  *archive.Record // the last answer that was left out: its request and resources follow it
	names map[string]bool // of the files that were written
}

func (w *rewriting) all(ctx context.Context, folders []string) error {
	for _, dir := range folders {
		paths, err := archive.Files(dir)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := w.file(ctx, path); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// file writes one file anew, and its index.
func (w *rewriting) file(ctx context.Context, path string) (err error) {
	name := strings.TrimSuffix(filepath.Base(path), ".open")
	for n := 2; w.names[name]; n++ { // another directory has a file of that name
		name = fmt.Sprintf("%d-%s", n, strings.TrimSuffix(filepath.Base(path), ".open"))
	}
	w.names[name] = true
	w.Files++
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	final := filepath.Join(w.to, name)
	out, err := os.OpenFile(final, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 256<<10)
	err = errors.Join(w.records(ctx, path, in, buffered), buffered.Flush(), out.Sync(), out.Close())
	if err != nil {
		return err
	}
	index, err := os.OpenFile(indexOf(final), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(archive.IndexFile(final, name, w.to, index), index.Sync(), index.Close())
}

// indexOf is the name of the index of a WARC file.
func indexOf(path string) string {
	for _, end := range []string{".gz", ".zst"} {
		path = strings.TrimSuffix(path, end)
	}
	return strings.TrimSuffix(path, ".warc") + ".cdxj"
}

// records copies the records that are kept. What stands before the first, the dictionary of a
// compression, is copied too.
func (w *rewriting) records(ctx context.Context, path string, in io.ReaderAt,
	out *bufio.Writer) error {
	first := true
	_, err := archive.Scan(path, func(r archive.Record) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if r.Length == 0 {
			return archive.ErrShared
		}
		if first && r.Offset > 0 {
			if _, err := io.Copy(out, io.NewSectionReader(in, 0, r.Offset)); err != nil {
				return err
			}
		}
		first = false
		capture := (r.Type == "response" || r.Type == "revisit") && strings.Contains(r.TargetURI, "://")
		if w.leaves(&r, capture) {
			if capture {
				w.LeftOut++
			}
			return nil
		}
		if capture {
			w.Captures++
		}
		if r.Type == "revisit" {
			response, err := Completed(ctx, w.src, &r, w.omit)
			if err != nil {
				return err
			}
			if response != nil {
				w.Completed++
				return WriteResponse(compressed(path, out), response)
			}
		}
		_, err := io.Copy(out, io.NewSectionReader(in, r.Offset, r.Length))
		return err
	})
	if damage, ok := errors.AsType[*archive.DamageError](err); ok && damage != nil {
		return nil // it is read up to there, and was named when it was opened
	}
	return err
}

// leaves reports whether a record is left out: a capture that is, or what belongs to one.
func (w *rewriting) leaves(r *archive.Record, capture bool) bool {
	switch {
	case w.omit.OfURL(r.TargetURI):
		return true
	case w.omit.Purposes == 0:
		return false
	case !capture:
		return w.gone != nil && isBeside(r, w.gone)
	case w.omit.record(r):
		of := archive.Record{ID: r.ID}
		w.gone = &of
		return true
	}
	w.gone = nil
	return false
}

// Completed returns a revisit of a payload that was stored with a capture which is left out as a
// response that has the payload itself; nil: it refers to something else.
func Completed(
	ctx context.Context,
	src Source,
	r *archive.Record,
	omit *Omit,
) (*archive.Record, error) {
	if r.Type != "revisit" || r.Status == http.StatusNotModified || r.RefersToURI == "" ||
		!omit.OfURL(r.RefersToURI) && omit.Purposes == 0 {
		return nil, nil
	}
	original, err := src.Payload(ctx, r)
	switch gone := omit.OfURL(r.RefersToURI); {
	case err != nil && gone:
		return nil, fmt.Errorf("%s: %w", r.TargetURI, err)
	case err != nil, !gone && !omit.quietly().record(original):
		return nil, nil // it refers to what is not here, and stays as it is
	}
	whole := *r
	whole.Type, whole.Payload = "response", original.Payload
	whole.ContentType, whole.Truncated = original.ContentType, original.Truncated
	if len(whole.Head) == 0 {
		whole.Head = original.Head
	}
	return &whole, nil
}

// ofRevisits are the fields of a record that only a revisit has, and those that are written anew.
var ofRevisits = []string{"Warc-Type", "Warc-Profile", "Warc-Refers-To",
	"Warc-Refers-To-Target-Uri", "Warc-Refers-To-Date",
	"Warc-Identified-Payload-Type", "Warc-Block-Digest", "Warc-Truncated",
	"Content-Type", "Content-Length"}

// WriteResponse writes a response record and ends its member.
func WriteResponse(out io.WriteCloser, r *archive.Record) error {
	var b bytes.Buffer
	b.WriteString("WARC/1.1\r\nWARC-Type: response\r\n")
	names := make([]string, 0, len(r.Fields))
	for name := range r.Fields {
		if !slices.Contains(ofRevisits, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range r.Fields[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", strings.Replace(name, "Warc-", "WARC-", 1), value)
		}
	}
	if r.ContentType != "" {
		fmt.Fprintf(&b, "WARC-Identified-Payload-Type: %s\r\n", r.ContentType)
	}
	if r.Truncated != "" {
		fmt.Fprintf(&b, "WARC-Truncated: %s\r\n", r.Truncated)
	}
	fmt.Fprintf(&b, "Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n",
		len(r.Head)+len(r.Payload))
	for _, part := range [][]byte{b.Bytes(), r.Head, r.Payload, []byte("\r\n\r\n")} {
		if _, err := out.Write(part); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}

// compressed begins a record in a file, in the way of its name.
func compressed(path string, out io.Writer) io.WriteCloser {
	switch path = strings.TrimSuffix(path, ".open"); {
	case strings.HasSuffix(path, ".gz"):
		return gzip.NewWriter(out)
	case strings.HasSuffix(path, ".zst"):
		// An error says that an option is wrong.
		if z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1)); err == nil {
			return z
		}
	}
	return verbatim{out}
}

// verbatim writes a record as it is.
type verbatim struct{ io.Writer }

func (verbatim) Close() error { return nil }
